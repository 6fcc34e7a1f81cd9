"""Giving a step more time, or less."""

import argparse
from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.desk.admin.actions.dry_run import NOBODY
from workers.exceptions import StateError
from workers.models import Step
from workers.rules import operator_commands
from workers.runtime import timestamps
from workers.runtime.failpoints import durable
from workers.states import FINAL_PROCESS_STATES
from workers.store.operate import steering


class RetimeForm(VerbForm):
    seconds = forms.IntegerField(label=lazy("Seconds"), min_value=1)
    #: The step's time as the operator saw it: setting it does not move the process's sequence.
    seen = forms.CharField(widget=forms.HiddenInput, max_length=100)

    field_order = ("seconds", "reason")

    def __init__(self, target: Target, data: Any = None) -> None:
        super().__init__(target, data)
        step = target.step
        assert step is not None
        self.initial["seen"] = _time_of(step)
        if step.deferral is None:
            self.initial["seconds"] = step.timeout_seconds
            self.fields["seconds"].help_text = _("%(from)d to %(to)d, for each attempt.") % {
                "from": operator_commands.SHORTEST,
                "to": operator_commands.LONGEST,
            }
        else:
            self.fields["seconds"].help_text = _("From now on, for the answer to come.")

    def clean_seconds(self) -> int:
        seconds: int = self.cleaned_data["seconds"]
        name, step = self.target.step_name, self.target.step
        if step is not None and seconds == step.timeout_seconds:
            # Left to the store, which refuses it, or says that somebody else was quicker.
            return seconds
        why = self.target.rehearsal.refusal(
            lambda stage: operator_commands.retime(stage, name, seconds, NOBODY, "")
        )
        if why:
            raise forms.ValidationError(why)
        return seconds


class Retime(Verb):
    name = "retime"
    label = lazy("Set time")
    button = lazy("Set the time")
    permission = "extend_step"
    address = "steps/<str:step>/retime/"
    form = RetimeForm
    events: ClassVar = {"retimed": lazy("Its time was set")}

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        if target.process.state in FINAL_PROCESS_STATES:
            text = _("%(subject)s is %(state)s: no time runs any more.")
            subject, state = target.process.subject, target.process.state
            raise StateError(text % {"subject": subject, "state": state})
        # Any time other than the present one.
        other_seconds = step.timeout_seconds % operator_commands.LONGEST + 1
        operator_commands.retime(target.rehearsal.stage(), step.name, other_seconds, NOBODY, "")
        if step.deferral is not None and step.complete_by is not None:
            text = _("%(step)s waits for an answer until %(at)s. Set how long from now on.")
            return Preview(text % {"step": step.name, "at": timestamps.full(step.complete_by)})
        text = _(
            "%(step)s has %(seconds)d s for each attempt. A shorter time acts at once; a longer "
            "one once the present attempt has ended, or at once where nobody has begun it."
        )
        return Preview(text % {"step": step.name, "seconds": step.timeout_seconds})

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--seconds", type=int, default=0, help="retime: the time the step has")

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        assert target.step is not None
        return {"seconds": options["seconds"], "seen": _time_of(target.step)}

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        seen_time, seconds = data.pop("seen"), data.pop("seconds")
        name = target.step_name
        with durable("retiming.perform"):
            # The process's lock keeps others out between this check and the change.
            steering.lock(target.process.pk, data["sequence"], None)
            step = Step.objects.get(process=target.process, name=name)
            if _time_of(step) != seen_time:
                why = _("The time of %(step)s has been set since the page was opened. Look again.")
                raise StateError(why % {"step": name})
            operations.retime(target.process.pk, name, seconds, actor=actor, **data)
        text = _("%(step)s has a time limit of %(seconds)d s now.") % {
            "step": name,
            "seconds": seconds,
        }
        return outcome_about(target, text, retimed=name, seconds=seconds)


def _time_of(step: Step) -> str:
    if step.deferral is not None and step.complete_by is not None:
        return step.complete_by.isoformat()
    return str(step.timeout_seconds)
