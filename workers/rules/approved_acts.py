"""Acts that need a second person's approval, by verb, and what each moves.  Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.rules import compensation, external_answers, operator_commands, restart
from workers.rules.external_answers import Outcome
from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState

#: Answers that changed something.
TAKEN = frozenset({Outcome.ACCEPTED, Outcome.KEPT})


@dataclass(frozen=True, slots=True)
class Act:
    """An act that one person asks another to approve."""

    #: A name in ``VERBS``, or in the store's ``STORE_VERBS``.
    verb: str
    #: The step to act on; empty: the whole process.
    step: str = ""
    #: The verb's other parameters, as JSON.
    params: Mapping[str, Any] = field(default_factory=dict)


#: Takes the process, the act, the actor and the reason; returns the names of what it moves.
ActVerb = Callable[[LockedProcess, Act, str, str], Sequence[str]]


def of_plan(plan: compensation.Plan) -> list[str]:
    """Return the names of the steps that an undo moves."""
    return [planned.name for planned in plan.undo]


def _undo(outcome: str) -> ActVerb:
    return lambda locked, act, actor, reason: of_plan(
        compensation.begin(locked, outcome, actor, reason)
    )


def _begin_again(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    return of_plan(restart.begin(locked, act.step, actor, reason).undo)


def _resubmit(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    doubtful = operator_commands.doubtful(locked)
    operator_commands.resubmit(locked, actor, reason, nothing_happened=True)
    return doubtful


def _redo(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    return operator_commands.redo(locked, act.step, actor, reason, may_happen_twice=True)


def _complete(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    operator_commands.complete(locked, act.step, act.params["result"], actor, reason)
    return [act.step]


def _skip(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    operator_commands.skip(locked, act.step, actor, reason)
    return [act.step]


def _answer(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    step = locked.named(act.step)
    state = step.state
    if external_answers.answer(locked, step, dict(act.params["body"]), actor) not in TAKEN:
        raise refused("answer_unwanted", step=step.name, state=state)
    return [act.step]


#: Each raises ``StateError``, changing nothing, where the state of the process forbids it.
VERBS: Mapping[str, ActVerb] = {
    "cancel": _undo(ProcessState.CANCELLED),
    "compensate": _undo(ProcessState.COMPENSATED),
    "begin_again": _begin_again,
    "resubmit": _resubmit,
    "redo": _redo,
    "complete": _complete,
    "skip": _skip,
    "answer": _answer,
}
