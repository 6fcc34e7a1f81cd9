"""Trying a step again at once, whatever is left of its backoff, delay or rest."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import badges
from workers.admin.actions.action import Preview, Section, Target, Verb, said_of
from workers.admin.actions.dry_run import NOBODY
from workers.exceptions import StateError
from workers.rules import operator_commands
from workers.runtime import timestamps
from workers.runtime.failpoints import durable
from workers.states import StepState
from workers.store.operate import commands


class Retry(Verb):
    name = "retry"
    label = lazy("Try now")
    button = lazy("Try it now")
    permission = "retry_step"
    address = "steps/<str:step>/retry/"

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

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        commands.retry_now(target.process.pk, target.step_name, actor=actor, **given)
        return said_of(target, _("%(step)s is tried now.") % {"step": target.step_name})


class RetryAll(Retry):
    """The same for every step of a process that waits: for many processes at once."""

    address = "retry/"

    def preview(self, target: Target) -> Preview:
        names = resting(target)
        if not names:
            said = _("%(subject)s: no step of it waits to be tried again.")
            raise StateError(said % {"subject": target.process.subject})
        return Preview(_("Tried now: %(steps)s.") % {"steps": ", ".join(names)})

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        self.preview(target)
        names = resting(target)
        with durable("retrying.perform"):
            for name in names:
                commands.retry_now(target.process.pk, name, actor=actor, **given)
        return said_of(target, _("%(step)s is tried now.") % {"step": ", ".join(names)})


def resting(target: Target) -> list[str]:
    """Return the steps of a process that wait for an instant."""
    return [
        step.name
        for step in target.process.steps.all()
        if step.state == StepState.PENDING
        and step.not_before is not None
        and step.not_before > target.now
    ]
