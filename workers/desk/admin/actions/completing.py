"""Ending a step by hand: a person did it, or the process goes on without it."""

import argparse
from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.effects import Effect
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
from workers.exceptions import MessageError
from workers.management.terminal import json_object
from workers.protocol.messages import storable
from workers.rules import operator_commands, overdue_answers


class CompleteForm(VerbForm):
    result = forms.JSONField(
        label=lazy("Result"),
        required=False,
        initial=dict,
        help_text=lazy("A JSON object, as the agent would have answered; later steps read it."),
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )

    field_order = ("result", "reason")

    def clean_result(self) -> dict[str, Any]:
        result = self.cleaned_data["result"]
        if result is None:
            return {}
        if not isinstance(result, dict):
            raise forms.ValidationError(lazy('A result is a JSON object, such as {"id": 1}.'))
        try:
            storable(result)
        except MessageError as error:
            raise forms.ValidationError(str(error)) from error
        return result


class Ending(Verb):
    """A verb that ends a step, which counts as an answer if the step asks a person."""

    def permissions_for(self, target: Target) -> tuple[str, ...]:
        assert target.step is not None
        permission = overdue_answers.permission_to_answer(target.step)
        return (*super().permissions_for(target), *((permission,) if permission else ()))


class Complete(Ending):
    name = "complete"
    label = lazy("Complete by hand")
    button = lazy("Complete it")
    permission = "complete_step"
    address = "steps/<str:step>/complete/"
    form = CompleteForm

    def check(self, target: Target) -> None:
        stage = target.rehearsal.stage()
        operator_commands.complete(stage, target.step_name, {}, NOBODY, "")

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        self.check(target)
        sentence = _(
            "%(step)s counts as done, with the result you give, and no agent is asked again."
        ) % {"step": step.name}
        undone = _(
            "Should it come to that, a person undoes it: no service can undo what was done by hand."
        )
        has_undo = step.undo is not None and step.undo.get("agent") and step.effect != Effect.NONE
        note = (undone,) if has_undo else ()
        doubt = _("An earlier attempt may have had its effect beside: look at the service first.")
        stage = target.rehearsal.stage()
        return second_person.preview(
            sentence,
            stage,
            [step.name],
            Section(_("Afterwards"), note),
            Section(_("Mind"), (doubt,) if step.is_in_doubt else ()),
        )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--result", type=json_object, default={}, help="complete, answer: a JSON object"
        )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        return {"result": options["result"]}

    def params(self, target: Target, actor: str, data: Mapping[str, Any]) -> dict[str, Any]:
        return {"result": data["result"]}

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        name, result = target.step_name, data.pop("result")
        operations.complete(target.process.pk, name, result, actor=actor, **data)
        return outcome_about(target, _("%(step)s is done.") % {"step": name}, completed=name)


class Skip(Ending):
    name = "skip"
    label = lazy("Skip")
    button = lazy("Skip it")
    permission = "skip_step"
    address = "steps/<str:step>/skip/"
    is_grave = True

    def check(self, target: Target) -> None:
        operator_commands.skip(target.rehearsal.stage(), target.step_name, NOBODY, "")

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        self.check(target)
        sentence = _("%(subject)s goes on without %(step)s.") % {
            "subject": target.process.subject,
            "step": step.name,
        }
        after = tuple(
            follower.name for follower in target.process.steps.all() if step.name in follower.after
        )
        moves = _(
            "What it moves, such as a payment or a parcel, is left out for good: who sees to it?"
        )
        doubt = _("An earlier attempt may have had its effect; it is kept.")
        notes = (moves,) if step.undo is not None and step.undo.get("agent") else ()
        return second_person.preview(
            sentence,
            target.rehearsal.stage(),
            [step.name],
            Section(_("Come next, without its result"), after),
            Section(_("Mind"), (*notes, *((doubt,) if step.may_have_effect else ()))),
        )

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        name = target.step_name
        operations.skip(target.process.pk, name, actor=actor, **data)
        return outcome_about(target, _("%(step)s was skipped.") % {"step": name}, skipped=name)
