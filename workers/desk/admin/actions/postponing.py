"""Having a step wait until an instant."""

import argparse
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.core.management.base import CommandError
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
from workers.management.terminal import instant
from workers.rules import operator_commands
from workers.runtime import timestamps


class PostponeForm(VerbForm):
    until = forms.DateTimeField(
        label=lazy("Until"),
        help_text=lazy("In the time zone that the page names."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    field_order = ("until", "reason")

    def clean_until(self) -> datetime:
        until: datetime = self.cleaned_data["until"]
        name, step = self.target.step_name, self.target.step
        if step is not None and until == step.not_before:
            # Left to the store: somebody has done this already.
            return until
        why = self.target.rehearsal.refusal(
            lambda stage: operator_commands.postpone(stage, name, until, NOBODY, "")
        )
        if why:
            raise forms.ValidationError(why)
        return until


class Postpone(Verb):
    name = "postpone"
    label = lazy("Postpone")
    button = lazy("Postpone it")
    permission = "extend_step"
    address = "steps/<str:step>/postpone/"
    form = PostponeForm
    events: ClassVar = {"postponed": lazy("Postponed")}

    def check(self, target: Target) -> None:
        operator_commands.refuse_to_postpone(target.rehearsal.stage(), target.step_name)

    def preview(self, target: Target) -> Preview:
        self.check(target)
        text = _(
            "%(step)s is not begun before the time you give. Its counts stay as they are, and a "
            "date by which %(subject)s must have ended still counts."
        )
        return Preview(text % {"step": target.step_name, "subject": target.process.subject})

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--until", type=instant, help="postpone: such as 2026-11-21T09:30:00+00:00"
        )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        if options["until"] is None:
            raise CommandError("Say until when, with --until.")
        return {"until": options["until"]}

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        name, until = target.step_name, data.pop("until")
        operations.postpone(target.process.pk, name, until, actor=actor, **data)
        text = _("%(step)s waits until %(at)s.") % {"step": name, "at": timestamps.full(until)}
        return outcome_about(target, text, postponed=name, until=until)
