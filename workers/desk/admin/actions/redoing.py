"""Doing a skipped step again once the cause of its failure is fixed."""

import argparse
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.desk.admin import badges
from workers.desk.admin.actions import second_person
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.desk.admin.actions.dry_run import NOBODY
from workers.rules import operator_commands
from workers.states import ProcessState


class RedoForm(VerbForm):
    """Asks for one confirmation more if it is unknown whether the step happened."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        name = target.step_name
        why = target.rehearsal.refusal(
            lambda stage: operator_commands.redo(stage, name, NOBODY, "")
        )
        if why and not target.rehearsal.refusal(
            lambda stage: operator_commands.redo(stage, name, NOBODY, "", may_happen_twice=True)
        ):
            self.fields["may_happen_twice"] = forms.BooleanField(
                label=_("It may happen twice: do it again all the same"), help_text=why
            )


class Redo(Verb):
    name = "redo"
    label = lazy("Do again")
    button = lazy("Do it again")
    permission = "redo_step"
    address = "steps/<str:step>/redo/"
    form = RedoForm

    def check(self, target: Target) -> None:
        stage = target.rehearsal.stage()
        operator_commands.redo(stage, target.step_name, NOBODY, "", may_happen_twice=True)

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        stage = target.rehearsal.stage()
        moves = operator_commands.redo(stage, step.name, NOBODY, "", may_happen_twice=True)
        sentence = _(
            "%(step)s is given to %(agent)s again, with %(n)d attempts and the same idempotency"
            " key."
        ) % {"step": step.name, "agent": step.agent, "n": step.failure_threshold}
        if target.process.state == ProcessState.PROCESSED:
            sentence += " " + _(
                "%(subject)s is processed once more when that has ended; nothing of it is undone."
            ) % {"subject": target.process.subject}
        fault = badges.fault_text(step.fault)
        twice = _("Nobody knows whether it happened: it may happen twice.")
        paused = _("It is paused: nothing is done before somebody resumes it.")
        mind = ((twice, bool(moves)), (paused, stage.is_paused))
        return second_person.preview(
            sentence,
            stage,
            moves,
            Section(_("It was skipped because"), (fault,) if fault else ()),
            Section(_("Mind"), tuple(text for text, applies in mind if applies)),
        )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--may-happen-twice",
            action="store_true",
            help="redo: accept that a step with an unknown outcome may happen twice",
        )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"may_happen_twice": options["may_happen_twice"]}

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        name = target.step_name
        operations.redo(target.process.pk, name, actor=actor, **data)
        return outcome_about(target, _("%(step)s is done again.") % {"step": name}, redone=name)
