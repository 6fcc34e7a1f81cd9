"""Answering a step that waits for a person: yes or no, in the words of its agent."""

import argparse
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from django import forms
from django.core.management.base import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import answers
from workers.definitions import registry
from workers.desk.admin.actions.action import (
    Outcome,
    Target,
    Verb,
    VerbForm,
    outcome_about,
)
from workers.desk.admin.panel import pretty
from workers.exceptions import Fault, Refused, StateError, UnknownAgent
from workers.models import Sink
from workers.rules.external_answers import Outcome as TakenAs
from workers.rules.overdue_answers import ANSWER_STEP, permission_to_answer
from workers.rules.transitions import LockedProcess
from workers.runtime.timestamps import moment
from workers.states import PEOPLE

APPROVE, DECLINE = "approve", "decline"


class Labels(NamedTuple):
    """The names of the two answers, on buttons and in the journal."""

    yes: str
    no: str


def labels_of(agent: str) -> Labels:
    """Return the names of the answers to an agent's question, in the reader's language."""
    try:
        declared = registry.agent(agent).answer_labels
    except UnknownAgent:
        declared = None
    yes, no = declared or (_("Approve"), _("Decline"))
    return Labels(str(yes), str(no))


class AnswerForm(VerbForm):
    """Asks which button was pressed, and for a comment, which is required to decline."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        self.decision = (data or {}).get("decision")
        reason = self.fields["reason"]
        reason.label = _("Comment")
        reason.required = self.decision == DECLINE
        reason.widget.is_required = False
        reason.help_text = _(
            "Needed for “%(no)s”. Kept with your name, and handed on as the answer."
        ) % {"no": labels_of(target.step.agent).no if target.step else ""}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if self.decision not in (APPROVE, DECLINE):
            raise forms.ValidationError(lazy("Press one of the two buttons."))
        return {**data, "decision": self.decision}


class Answer(Verb):
    name = "answer"
    label = lazy("Answer")
    button = lazy("Approve")
    permission = "workers.answer_step"
    address = "<int:pk>/steps/<str:step>/answer/"
    form = AnswerForm
    template = "admin/workers/answer.html"

    def permissions_for(self, target: Target) -> tuple[str, ...]:
        permission = permission_to_answer(target.step) if target.step is not None else ""
        return (permission or ANSWER_STEP,)

    def rehearse(self, target: Target, stage: LockedProcess) -> None:
        step = target.step
        assert step is not None
        if not (step.deferral and permission_to_answer(step)):
            text = _("Step %(step)s is %(state)s and waits for nobody's answer.")
            raise StateError(text % {"step": step.name, "state": step.state})

    def moves(self, target: Target, stage: LockedProcess, result: Any) -> Collection[str]:
        return (target.step_name,)

    def says(self, target: Target) -> str:
        assert target.step is not None
        text = _(
            "%(yes)s: %(subject)s goes on from %(step)s. %(no)s: what it did so far is undone."
        )
        sentence = text % {**labels_of(target.step.agent)._asdict(), **target.words}
        if Sink.objects.filter(process=target.process.pk).exists():
            sentence += " " + _("Its submitter is notified.")
        if target.step.complete_by is not None:
            until = _("Not decided yet? Leave it as it is: it waits until %(at)s.")
            sentence += " " + until % {"at": moment(target.step.complete_by, target.now)}
        return sentence

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        decision = parser.add_mutually_exclusive_group()
        for flag, value, text in (("--approve", APPROVE, "yes"), ("--decline", DECLINE, "no")):
            decision.add_argument(
                flag,
                dest="decision",
                action="store_const",
                const=value,
                help=f"answer: say {text}",
            )

    def data_of(self, target: Target, options: Mapping[str, Any]) -> dict[str, Any]:
        if options["decision"] is None:
            raise CommandError("Say what the answer is, with --approve or --decline.")
        return {"decision": options["decision"], "result": options["result"]}

    def params(self, target: Target, actor: str, data: Mapping[str, Any]) -> dict[str, Any]:
        return {"body": answers.body_of(_answer(actor, data))}

    def apply(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        assert target.step is not None
        name = target.step.name
        outcome = answers.by_person(
            target.process.pk,
            name,
            _answer(actor, data),
            actor=actor,
            sequence=data["sequence"],
        )
        declined = data["decision"] == DECLINE
        if outcome == TakenAs.REPEATED:
            text = _("%(step)s was answered so before; nothing was changed.")
        elif outcome == TakenAs.KEPT:
            text = _("%(step)s: “%(answer)s”, kept until it asks.")
        elif declined:
            text = _("%(step)s: “%(answer)s”; what was done is being undone.")
        else:
            text = _("%(step)s: “%(answer)s”.")
        labels = labels_of(target.step.agent)
        params = {"step": name, "answer": labels.no if declined else labels.yes}
        facts = {"answered": name, "declined": declined, "outcome": str(outcome)}
        return outcome_about(target, text % params, **facts)

    def beside(self, target: Target, form: forms.Form) -> dict[str, Any]:
        assert target.step is not None
        return {
            "input": pretty(target.mask.value(target.process.input)),
            "labels": labels_of(target.step.agent),
        }


def _answer(actor: str, data: Mapping[str, Any]) -> dict[str, Any] | Fault:
    comment = data["reason"]
    if data["decision"] == DECLINE:
        return Refused("declined", comment)
    username = actor.removeprefix(PEOPLE)
    return {"approved": True, "by": username, "comment": comment, **data.get("result", {})}
