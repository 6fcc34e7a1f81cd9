"""Answering a step that waits for somebody: approve or decline."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin.actions.action import Preview, Target, Verb, VerbForm, said_of
from workers.admin.panel import pretty
from workers.client import answers
from workers.exceptions import Refused, StateError
from workers.states import PEOPLE

APPROVE, DECLINE = "approve", "decline"
#: Needed where a deferral names no permission of its own.
PERMISSION = "workers.answer_step"


class AnswerForm(VerbForm):
    """Which button it was, and a comment; who declines says why."""

    def __init__(self, target: Target, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(target, data)
        self.decision = (data or {}).get("decision")
        reason = self.fields["reason"]
        reason.label = _("Comment")
        reason.required = self.decision == DECLINE
        reason.widget.is_required = False
        reason.help_text = _("Needed to decline. Kept with your name, and handed on as the answer.")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        if self.decision not in (APPROVE, DECLINE):
            raise forms.ValidationError(lazy("Approve or decline."))
        return {**given, "decision": self.decision}


class Answer(Verb):
    name = "answer"
    label = lazy("Answer")
    button = lazy("Approve")
    permission = "answer_step"
    address = "steps/<str:step>/answer/"
    form = AnswerForm
    template = "admin/workers/answer.html"

    def permission_for(self, target: Target) -> str:
        asked = (target.step and target.step.deferral) or {}
        return asked.get("permission") or PERMISSION

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        if step.deferral is None:
            said = _("Step %(step)s is %(state)s and waits for nobody's answer.")
            raise StateError(said % {"step": step.name, "state": step.state})
        return Preview(
            _(
                "Approved, %(subject)s goes on from %(step)s. Declined, what it did so far is "
                "undone, and whoever submitted it is told."
            )
            % {"subject": target.process.subject, "step": step.name}
        )

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        self.preview(target)
        where = (target.process.pk, target.step_name)
        comment, sequence = given["reason"], given["sequence"]
        if given["decision"] == APPROVE:
            by = actor.removeprefix(PEOPLE)
            result = {"approved": True, "by": by, "comment": comment}
            answers.by_person(*where, result, actor=actor, sequence=sequence)
            said = _("%(step)s approved.")
        else:
            fault = Refused("declined", comment)
            answers.by_person(*where, fault, actor=actor, sequence=sequence)
            said = _("%(step)s declined; what was done is being undone.")
        return said_of(target, said % {"step": target.step_name})

    def beside(self, target: Target, form: forms.Form) -> dict[str, Any]:
        return {"input": pretty(target.mask.value(target.process.input))}
