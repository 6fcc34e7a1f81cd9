"""Giving the steps in error their attempts back."""

import argparse
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin import badges
from workers.desk.admin.actions import second_person
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    VerbForm,
)
from workers.desk.admin.actions.dry_run import NOBODY, Rehearsal
from workers.models import Step
from workers.rules import operator_commands


def doubt(rehearsal: Rehearsal) -> str:
    """Return why only a person can say what a step in error did; empty if there is no such step."""
    if rehearsal.refusal(
        lambda stage: operator_commands.resubmit(stage, NOBODY, "", nothing_happened=True)
    ):
        return ""
    return rehearsal.refusal(lambda stage: operator_commands.resubmit(stage, NOBODY, ""))


class ResubmitForm(VerbForm):
    """Asks for one confirmation more if only a person can find out what a call did."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        why = doubt(target.rehearsal)
        if why:
            self.fields["nothing_happened"] = forms.BooleanField(
                label=_("I have made sure that nothing happened: call it again"),
                help_text=why,
            )


class Resubmit(Verb):
    name = "resubmit"
    label = lazy("Resubmit")
    button = lazy("Resubmit")
    permission = "resubmit_process"
    address = "resubmit/"
    form = ResubmitForm

    def check(self, target: Target) -> None:
        operator_commands.resubmit(target.rehearsal.stage(), NOBODY, "", nothing_happened=True)

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        doubtful = operator_commands.doubtful(stage)
        names = operator_commands.resubmit(stage, NOBODY, "", nothing_happened=True)
        steps = [step for step in target.process.steps.all() if step.name in names]
        sentence = _(
            "Steps in error are tried again. Whatever is done already is kept, and "
            "%(subject)s then goes on by itself."
        ) % {"subject": target.process.subject}
        again = Section(_("Tried again"), tuple(_retry_text(step) for step in steps))
        return second_person.preview(sentence, stage, doubtful, again)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--nothing-happened",
            action="store_true",
            help="resubmit: you found out that a step in doubt had no effect",
        )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"nothing_happened": options["nothing_happened"]}

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        steps = operations.resubmit(target.process.pk, actor=actor, **data)
        text = _("%(subject)s was resubmitted: %(steps)s.")
        params = {"subject": target.process.subject, "steps": in_words(say_names(steps))}
        return Outcome(text % params, {"resubmitted": steps})


def _retry_text(step: Step) -> str:
    text = _("%(step)s is given to %(agent)s again, with %(n)d attempts.") % {
        "step": step.name,
        "agent": step.agent,
        "n": step.failure_threshold,
    }
    if step.may_have_effect:
        key = _(
            "An earlier attempt may have had its effect. The service gets the same "
            "idempotency key again: %(key)s."
        ) % {"key": step.idempotency_key}
    else:
        key = _("No earlier attempt had an effect.")
    fault = badges.fault_text(step.fault)
    return " ".join(part for part in (text, f"({fault})" if fault else "", key) if part)
