"""Acts that need two persons above an amount, and how long a request for approval is valid.

Every act of an operator that moves money or goods passes ``refuse_alone`` with the names of what
it moves: undo steps, steps ended by hand or answered, calls that an operator has repeated, values
of the input.  Pure.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal

from workers.rules.refusals import refused
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE

#: How long a request is valid.
GOOD_FOR = timedelta(hours=24)
#: The refusals that a request to a second person overcomes.
NEEDS_ANOTHER = frozenset({"two_persons", "two_persons_unknown"})


def refuse_alone(
    locked: LockedProcess,
    moves: Collection[str],
    actor: str,
    amount: Decimal | None,
    limit: Decimal | None,
) -> None:
    """Raise ``StateError`` if one person may not move this much alone.

    A process of unknown worth counts as worth too much.  No second person is needed if nothing
    moves, if a client or a policy acts, or without a limit.
    """
    if limit is None or not actor.startswith(PEOPLE) or not moves:
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
    """Raise ``StateError`` if a request is too old to act on."""
    if now - asked_at > GOOD_FOR:
        hours = int(GOOD_FOR.total_seconds() // 3600)
        raise refused("undo_expired", request=request_id, hours=hours)
