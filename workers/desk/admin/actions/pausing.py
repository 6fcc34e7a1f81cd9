"""Pausing and resuming a process."""

from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
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
from workers.states import StepState


class Pause(Verb):
    name = "pause"
    label = lazy("Pause")
    button = lazy("Pause it")
    permission = "pause_process"
    address = "pause/"
    events: ClassVar = {"paused": lazy("Paused by an operator")}

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        operator_commands.pause(stage, NOBODY, "")
        sentence = _(
            "Nothing of %(subject)s is begun until somebody resumes it; a date by which it "
            "must have ended still counts."
        ) % {"subject": target.process.subject}
        busy = [step.name for step in stage.steps if step.state == StepState.PROCESSING]
        return Preview.saying(sentence, Section(_("In flight: goes on to its end"), tuple(busy)))

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        operations.pause(target.process.pk, actor=actor, **data)
        return outcome_about(target, _("paused."), paused=True)


class Resume(Verb):
    name = "resume"
    label = lazy("Resume")
    button = lazy("Resume it")
    permission = "pause_process"
    address = "resume/"
    events: ClassVar = {"unpaused": lazy("Resumed by an operator")}

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        operator_commands.resume(stage, NOBODY, "")
        sentence = _("%(subject)s goes on by itself from where it is.") % {
            "subject": target.process.subject
        }
        ready = [step.name for step in stage.steps if step.state == StepState.PENDING]
        return Preview.saying(sentence, Section(_("Pending"), tuple(ready)))

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        operations.resume(target.process.pk, actor=actor, **data)
        return outcome_about(target, _("resumed."), paused=False)
