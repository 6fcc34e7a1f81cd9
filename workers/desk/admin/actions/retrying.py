"""Trying a step again at once, without the remainder of its backoff, delay or rest."""

from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin import badges
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    outcome_about,
)
from workers.desk.admin.actions.dry_run import NOBODY
from workers.rules import operator_commands
from workers.runtime import timestamps


class Retry(Verb):
    name = "retry"
    label = lazy("Try now")
    button = lazy("Try it now")
    permission = "retry_step"
    address = "steps/<str:step>/retry/"
    events: ClassVar = {"hurried": lazy("Tried again without waiting")}

    def preview(self, target: Target) -> Preview:
        operator_commands.retry_now(target.rehearsal.stage(), target.step_name, NOBODY, "")
        assert target.step is not None
        assert target.step.not_before is not None
        sentence = _(
            "%(step)s does not wait until %(at)s: it goes to %(agent)s as soon as there is "
            "room. Its counts stay as they are."
        ) % {
            "step": target.step.name,
            "at": timestamps.full(target.step.not_before),
            "agent": target.step.agent,
        }
        fault = badges.fault_text(target.step.fault)
        return Preview.saying(sentence, Section(_("It waits because"), (fault,) if fault else ()))

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        name = target.step_name
        operations.retry(target.process.pk, name, actor=actor, **data)
        return outcome_about(target, _("%(step)s is tried now.") % {"step": name}, retried=name)
