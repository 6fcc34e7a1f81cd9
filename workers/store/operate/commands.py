"""Commands on a process: each is one transaction, with its journal row.

``sequence`` is the process's sequence number as the operator saw it.  Every command raises
``StateError``, changing nothing, if the process has moved since, if its state forbids the command,
or if there is no such process; so of two clicks only one takes effect.  An actor or a reason that
cannot be stored raises ``BadText``.

A command that moves money or goods is refused to an operator alone if it takes two persons
(``undo_requests``).
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction

from workers.rules import compensation, operator_commands, restart
from workers.rules.approved_acts import of_plan
from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store.locked import load
from workers.store.operate import two_persons
from workers.store.settle.carry_on import carry_on

T = TypeVar("T")

LARGEST_KEY = 2**63 - 1


def resubmit(
    process_id: int,
    *,
    actor: str,
    reason: str,
    nothing_happened: bool = False,
    sequence: int | None = None,
    now: datetime | None = None,
) -> list[str]:
    """Make the steps in error pending with all their attempts; return their names.

    ``nothing_happened`` confirms that calls of unknown outcome had no effect; without it, a process
    with such a call is refused.
    """

    def act(locked: LockedProcess) -> tuple[list[str], Sequence[str]]:
        doubtful = operator_commands.doubtful(locked)
        steps = operator_commands.resubmit(locked, actor, reason, nothing_happened=nothing_happened)
        return steps, doubtful

    return _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def redo(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    may_happen_twice: bool = False,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Do a skipped step again; a processed process resumes for it.

    ``may_happen_twice`` allows repeating a call of unknown outcome; without it, such a step is
    refused.
    """

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        return None, operator_commands.redo(
            locked, step, actor, reason, may_happen_twice=may_happen_twice
        )

    _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def undo(
    process_id: int,
    *,
    outcome: str,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> compensation.Plan:
    """Begin to compensate a process; return the plan.  ``outcome``: cancelled or compensated."""

    def act(locked: LockedProcess) -> tuple[compensation.Plan, Sequence[str]]:
        plan = compensation.begin(locked, outcome, actor, reason)
        return plan, of_plan(plan)

    return _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def begin_again(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> restart.Renewal:
    """Undo a step and every later step, and go on from there; return the plan."""

    def act(locked: LockedProcess) -> tuple[restart.Renewal, Sequence[str]]:
        renewal = restart.begin(locked, step, actor, reason)
        return renewal, of_plan(renewal.undo)

    return _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def pause(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Stop claiming steps of a process; calls in flight run to their end."""
    _steer(
        process_id,
        lambda locked: operator_commands.pause(locked, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


def resume(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Resume a paused process."""
    _steer(
        process_id,
        lambda locked: operator_commands.resume(locked, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


def retry_now(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """End a step's backoff, delay or wait now."""
    _steer(
        process_id,
        lambda locked: operator_commands.retry_now(locked, step, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


def retime(
    process_id: int,
    step: str,
    seconds: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Set a step's timeout: a shorter one acts at once, a longer one with its next claim."""
    _steer(
        process_id,
        lambda locked: operator_commands.retime(locked, step, seconds, actor, reason),
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )


def complete(
    process_id: int,
    step: str,
    result: dict[str, Any],
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Mark a step as done by hand."""

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        operator_commands.complete(locked, step, result, actor, reason)
        return None, [step]

    _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def skip(
    process_id: int,
    step: str,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> None:
    """Go on without a step."""

    def act(locked: LockedProcess) -> tuple[None, Sequence[str]]:
        operator_commands.skip(locked, step, actor, reason)
        return None, [step]

    _move(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


def preview(process_id: int) -> compensation.Plan:
    """Return what undoing a process would do now; changes nothing."""
    with transaction.atomic():
        return compensation.plan(lock(process_id, None, None))


def preview_again(process_id: int, step: str) -> restart.Renewal:
    """Return what beginning again from a step would do now; changes nothing."""
    with transaction.atomic():
        return restart.plan(lock(process_id, None, None), step)


def _move(
    process_id: int,
    verb: Callable[[LockedProcess], tuple[T, Sequence[str]]],
    *,
    actor: str,
    reason: str,
    sequence: int | None,
    now: datetime | None,
) -> T:
    """Run a verb that returns its outcome and the names of what it moves."""
    amounts = two_persons.worth([process_id], actor)

    def act(locked: LockedProcess) -> T:
        outcome, moves = verb(locked)
        two_persons.refuse_alone(locked, moves, actor, amounts)
        return outcome

    return _steer(process_id, act, actor=actor, reason=reason, sequence=sequence, now=now)


@load.again_when_lost
def _steer(
    process_id: int,
    verb: Callable[[LockedProcess], T],
    *,
    actor: str,
    reason: str,
    sequence: int | None,
    now: datetime | None,
) -> T:
    storable_text.check_all(actor=actor, reason=reason)
    with durable("commands.steer"):
        locked = lock(process_id, sequence, now)
        outcome = verb(locked)
        # Branches that became ready meanwhile go on as well; the poll claims them.
        carry_on([locked], actor, now, claim=False)
    return outcome


def lock(process_id: int, sequence: int | None, now: datetime | None) -> LockedProcess:
    """Lock one process; raise ``StateError`` if it is missing or has moved since ``sequence``."""
    # No key is outside these bounds, and a query with a larger one would fail.
    processes = load.lock([process_id], now) if 0 < process_id <= LARGEST_KEY else []
    if not processes:
        raise refused("no_process", process=process_id)
    (locked,) = processes
    if sequence is not None and locked.process.sequence != sequence:
        raise refused("moved", subject=locked.process.subject)
    return locked
