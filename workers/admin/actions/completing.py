"""Ending a step by hand: somebody did it, or it is gone on without."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin.actions.action import Preview, Section, Target, Verb, VerbForm, said_of
from workers.admin.actions.dry_run import NOBODY
from workers.client import operations
from workers.definitions.effects import Effect
from workers.exceptions import MessageError
from workers.protocol.messages import storable
from workers.rules import operator_commands


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


class Complete(Verb):
    name = "complete"
    label = lazy("Complete by hand")
    button = lazy("Complete it")
    permission = "complete_step"
    address = "steps/<str:step>/complete/"
    form = CompleteForm

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        operator_commands.complete(target.rehearsal.stage(), step.name, {}, NOBODY, "")
        sentence = _(
            "%(step)s counts as done, with the result you give, and no agent is asked again."
        ) % {"step": step.name}
        undone = _("Should it come to that, its effect is undone by %(agent)s.")
        has_undo = step.undo is not None and step.undo.get("agent") and step.effect != Effect.NONE
        note = (undone % {"agent": step.undo["agent"]},) if step.undo and has_undo else ()
        return Preview.saying(sentence, Section(_("Afterwards"), note))

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        result = given.pop("result")
        operations.complete(target.process.pk, target.step_name, result, actor=actor, **given)
        return said_of(target, _("%(step)s is done.") % {"step": target.step_name})


class Skip(Verb):
    name = "skip"
    label = lazy("Skip")
    button = lazy("Skip it")
    permission = "skip_step"
    address = "steps/<str:step>/skip/"
    is_grave = True

    def preview(self, target: Target) -> Preview:
        step = target.step
        assert step is not None
        operator_commands.skip(target.rehearsal.stage(), step.name, NOBODY, "")
        sentence = _("%(subject)s goes on without %(step)s.") % {
            "subject": target.process.subject,
            "step": step.name,
        }
        after = tuple(one.name for one in target.process.steps.all() if step.name in one.after)
        doubt = _("An earlier attempt may have had its effect; it is kept.")
        return Preview.saying(
            sentence,
            Section(_("Come next, without its result"), after),
            Section(_("Mind"), (doubt,) if step.may_have_effect else ()),
        )

    def perform(self, target: Target, actor: str, given: dict[str, Any]) -> str:
        operations.skip(target.process.pk, target.step_name, actor=actor, **given)
        return said_of(target, _("%(step)s was skipped.") % {"step": target.step_name})
