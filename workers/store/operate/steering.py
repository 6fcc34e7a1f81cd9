"""One transaction for each command on a process, with its journal row.

``sequence`` is the process's sequence number as the operator saw it.  A command raises
``StateError``, changing nothing, if the process has moved since, if its state forbids the command,
or if there is no such process; so of two clicks only one takes effect.  An actor or a reason that
cannot be stored raises ``BadText``.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Required, TypedDict, TypeVar, TypeVarTuple, Unpack

from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store.locked import load
from workers.store.operate import two_persons
from workers.store.settle.carry_on import carry_on

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LARGEST_KEY = 2**63 - 1


class By(TypedDict, total=False):
    """Who steers, and why; the process's sequence number as they saw it, and the time."""

    actor: Required[str]
    reason: Required[str]
    sequence: int | None
    now: datetime | None


def move(
    process_id: int,
    verb: Callable[[LockedProcess, *Ts, str, str], T],
    *args: *Ts,
    moves: Callable[[T], Sequence[str]],
    **by: Unpack[By],
) -> T:
    """Steer; ``moves`` returns the names of what a verb with this outcome moves.

    Refused to an operator alone if what moves takes two persons (``undo_requests``).
    """
    amounts = two_persons.worth([process_id], by["actor"])

    def act(locked: LockedProcess, actor: str, reason: str) -> T:
        outcome = verb(locked, *args, actor, reason)
        two_persons.refuse_alone(locked, moves(outcome), actor, amounts)
        return outcome

    return steer(process_id, act, **by)


@load.again_when_lost
def steer(
    process_id: int,
    verb: Callable[[LockedProcess, *Ts, str, str], T],
    *args: *Ts,
    **by: Unpack[By],
) -> T:
    """Run a verb with its arguments, the actor and the reason; return its outcome."""
    actor, reason, now = by["actor"], by["reason"], by.get("now")
    storable_text.check_all(actor=actor, reason=reason)
    with durable("steering.steer"):
        locked = lock(process_id, by.get("sequence"), now)
        outcome = verb(locked, *args, actor, reason)
        # Branches that became ready meanwhile go on as well; the poll claims them.
        carry_on([locked], actor, now)
    return outcome


def lock(process_id: int, sequence: int | None, now: datetime | None) -> LockedProcess:
    """Lock one process; raise ``StateError`` if it is missing or has moved since ``sequence``."""
    if not isinstance(process_id, int):
        raise TypeError(f"process_id must be a whole number, got {process_id!r}. Give its id.")
    # No key is outside these bounds, and a query with a larger one would fail.
    processes = load.lock([process_id], now) if 0 < process_id <= LARGEST_KEY else []
    if not processes:
        raise refused("no_process", process=process_id)
    (locked,) = processes
    if sequence is not None and locked.process.sequence != sequence:
        raise refused("moved", subject=locked.process.subject)
    return locked
