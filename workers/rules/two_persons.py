"""Undoing what is worth more than a sum takes two persons: when, and what one asks for.  Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from workers.rules import compensation, restart
from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE, ProcessState

#: A request is good for so long.
GOOD_FOR = timedelta(hours=24)
#: The refusals that a request to a second person overcomes.
NEEDS_ANOTHER = frozenset({"two_persons", "two_persons_unknown"})

#: Takes the process, the step to begin again from, who acts and why.
UndoVerb = Callable[[LockedProcess, str, str, str], compensation.Plan]

#: Each raises ``StateError``, changing nothing, where the state of the process forbids it.
UNDO_VERBS: Mapping[str, UndoVerb] = {
    "cancel": lambda locked, _, actor, reason: compensation.begin(
        locked, ProcessState.CANCELLED, actor, reason
    ),
    "compensate": lambda locked, _, actor, reason: compensation.begin(
        locked, ProcessState.COMPENSATED, actor, reason
    ),
    "begin_again": lambda locked, step, actor, reason: (
        restart.begin(locked, step, actor, reason).undo
    ),
}


def refuse_alone(
    locked: LockedProcess,
    plan: compensation.Plan,
    actor: str,
    amount: Decimal | None,
    limit: Decimal | None,
) -> None:
    """Raise ``StateError`` where one person may not undo this much alone.

    A process of unknown worth counts as worth too much.  Where nothing is undone, where a client
    or a policy undoes, and without a limit, nobody else is needed.
    """
    if limit is None or not actor.startswith(PEOPLE) or not plan.undo:
        return
    if amount is None:
        raise refused("two_persons_unknown", subject=locked.process.subject)
    if amount > limit:
        raise refused(
            "two_persons",
            subject=locked.process.subject,
            amount=f"{amount:.2f}",
            limit=f"{limit:.2f}",
        )


def refuse_if_expired(request_id: int, asked_at: datetime, now: datetime) -> None:
    """Raise ``StateError`` where a request is too old to act on."""
    if now - asked_at > GOOD_FOR:
        hours = int(GOOD_FOR.total_seconds() // 3600)
        raise refused("undo_expired", request=request_id, hours=hours)
