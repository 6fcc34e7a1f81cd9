"""The verbs of jobs, and on how many processes a job may act now.  Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workers.desk.states import JobState
from workers.rules import compensation, operator_commands
from workers.rules.approved_acts import of_plan
from workers.rules.rate_limit import Bucket
from workers.rules.transitions import LockedProcess
from workers.states import ProcessState

#: Takes the process, the actor, the reason and the job's ``params``; returns the names of the steps
#: that move money or goods, which may take two persons.
JobVerb = Callable[[LockedProcess, str, str, Mapping[str, Any]], Sequence[str]]


def _resubmit(
    locked: LockedProcess, actor: str, reason: str, params: Mapping[str, Any]
) -> Sequence[str]:
    doubtful = operator_commands.doubtful(locked)
    nothing_happened = bool(params.get("nothing_happened"))
    operator_commands.resubmit(locked, actor, reason, nothing_happened=nothing_happened)
    return doubtful


def _redo(
    locked: LockedProcess, actor: str, reason: str, params: Mapping[str, Any]
) -> Sequence[str]:
    twice = bool(params.get("may_happen_twice"))
    return operator_commands.redo_left_out(locked, actor, reason, may_happen_twice=twice)


def _quiet(verb: Callable[[LockedProcess, str, str], object]) -> JobVerb:
    """Return a job's verb for a command that moves neither money nor goods."""

    def act(
        locked: LockedProcess, actor: str, reason: str, params: Mapping[str, Any]
    ) -> Sequence[str]:
        verb(locked, actor, reason)
        return ()

    return act


#: Each raises ``StateError``, changing nothing, if the state of the process forbids it.
VERBS: Mapping[str, JobVerb] = {
    "resubmit": _resubmit,
    "redo": _redo,
    "retry": _quiet(operator_commands.retry_resting),
    "pause": _quiet(operator_commands.pause),
    "resume": _quiet(operator_commands.resume),
    "cancel": lambda locked, actor, reason, _: of_plan(
        compensation.begin(locked, ProcessState.CANCELLED, actor, reason)
    ),
}
#: Verbs that make no step ready to be claimed.
QUIET_VERBS = frozenset({"pause"})

#: Act of an operator on a job -> the states it starts from, and the state it leads to.
STEERING: Mapping[str, tuple[frozenset[str], str]] = {
    "pause": (frozenset({JobState.RUNNING}), JobState.PAUSED),
    "resume": (frozenset({JobState.PAUSED}), JobState.RUNNING),
    "stop": (frozenset({JobState.PLANNED, JobState.RUNNING, JobState.PAUSED}), JobState.STOPPED),
}


def within_sample(sample: int, landed: int, most: int) -> int:
    """Return how many processes may be acted on before the sample is complete, or after it."""
    return min(most, sample - landed) if landed < sample else most


def pauses(sample: int, before: int, after: int) -> bool:
    """Say whether a job pauses by itself: just now it has changed as many as its sample has."""
    return before < sample <= after


def allowance(bucket: Bucket | None, most: int) -> int:
    """Return how many processes may be acted on now; ``bucket`` is the rate, refilled."""
    return most if bucket is None else min(most, max(0, int(bucket.tokens)))
