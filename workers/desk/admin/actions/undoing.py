"""Stopping a process and undoing what it did: it is cancelled, or could not be finished."""

from collections.abc import Iterable
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.client import operations
from workers.definitions.sentences import in_words, say_names
from workers.desk.admin.actions import second_person
from workers.desk.admin.actions.action import (
    Outcome,
    Preview,
    Section,
    Target,
    Verb,
    outcome_about,
)
from workers.desk.admin.actions.dry_run import NOBODY
from workers.rules import compensation
from workers.rules.approved_acts import of_plan
from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState, StepState


class _Undo(Verb):
    outcome: ClassVar[str]
    is_grave = True

    def check(self, target: Target) -> None:
        compensation.refuse_if_too_late(target.rehearsal.stage())

    def preview(self, target: Target) -> Preview:
        stage = target.rehearsal.stage()
        plan = compensation.begin(stage, self.outcome, NOBODY, "")
        moves = of_plan(plan)
        return second_person.preview(
            self.sentence(target), stage, moves, *sections(stage, plan), **facts(plan)
        )

    def sentence(self, target: Target) -> str:
        raise NotImplementedError

    def perform(self, target: Target, actor: str, data: dict[str, Any]) -> Outcome:
        plan = operations.undo(target.process.pk, outcome=self.outcome, actor=actor, **data)
        names = in_words(say_names([undo.name for undo in plan.undo]))
        text = _("stopped; nothing had to be undone.")
        if names:
            text = _("being undone: %(steps)s.") % {"steps": names}
        if plan.lasting:
            lasting = _("Nothing undoes %(steps)s: the effect stays.")
            text = f"{text} {lasting % {'steps': in_words(say_names(plan.lasting))}}"
        return outcome_about(target, text, **facts(plan))


class Cancel(_Undo):
    name = "cancel"
    label = lazy("Cancel")
    button = lazy("Cancel it")
    permission = "cancel_process"
    address = "cancel/"
    outcome = ProcessState.CANCELLED

    def sentence(self, target: Target) -> str:
        return _(
            "%(subject)s stops here, what it did is undone, and it ends as cancelled: "
            "somebody called it off."
        ) % {"subject": target.process.subject}


class Compensate(_Undo):
    name = "compensate"
    label = lazy("Undo")
    button = lazy("Undo it")
    permission = "compensate_process"
    address = "compensate/"
    outcome = ProcessState.COMPENSATED

    def sentence(self, target: Target) -> str:
        return _(
            "%(subject)s stops here, what it did is undone, and it ends as compensated: "
            "it could not be finished."
        ) % {"subject": target.process.subject}


def facts(plan: compensation.Plan) -> dict[str, Any]:
    """Return what undoing entails, for programs."""
    return {"undo": [undo.name for undo in plan.undo], "lasting": list(plan.lasting)}


def sections(stage: LockedProcess, plan: compensation.Plan) -> Iterable[Section]:
    """Return what undoing entails, for people; ``stage`` has just begun to compensate."""
    at_work = [step.name for step in stage.forward_steps if step.is_at_work]
    cancelled = [entry.detail["step"] for entry in stage.entries if _is_cancelled(entry)]
    persons = {*plan.by_hand, *plan.forgotten}
    yield Section(
        _("Undone, in this order"),
        tuple(
            _("%(undo)s by %(agent)s, for %(step)s")
            % {
                "undo": undo.name,
                "agent": _("a person") if undo.forward.name in persons else undo.agent,
                "step": undo.forward.name,
            }
            for undo in plan.undo
        ),
        is_ordered=True,
    )
    yield Section(_("Done by hand, so undone by hand: it stops there until then"), plan.by_hand)
    yield Section(
        _("Nobody knows if it happened, and its service has forgotten the key: look there first"),
        plan.forgotten,
    )
    paused = _("It is paused: nothing is undone until somebody resumes it.")
    yield Section(_("Mind"), (paused,) if stage.is_paused else ())
    yield Section(_("At work just now: runs to its end first"), tuple(at_work))
    yield Section(_("Not done any more"), tuple(cancelled))
    yield Section(_("May have had an effect, and nothing undoes it"), plan.lasting)


def _is_cancelled(entry: Entry) -> bool:
    return entry.step_id is not None and entry.after == StepState.CANCELLED
