"""Settle replies."""

import logging
from collections.abc import Sequence
from datetime import datetime

from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.runtime.worker_identity import me
from workers.scheduler import waking
from workers.store import isolation
from workers.store.claims.claim_steps import Room
from workers.store.settle import settle_replies
from workers.store.settle.settle_replies import SettleResult
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: Code of the fault that replaces a reply that cannot be applied.
UNUSABLE = "reply_unusable"


def settle(
    batch: Sequence[Reply], now: datetime | None = None, *, own_room: Room | None = None
) -> SettleResult:
    """Apply replies, and start the steps that they made ready in ``own_room``.

    Without it, wakes the processes that may take them.  A reply that cannot be applied, for
    whatever reason, counts as a failure of its own step and holds up no other.  Raises when the
    database is unavailable.
    """

    def apply(part: Sequence[Reply]) -> SettleResult:
        return settle_replies.apply(part, me("scheduler"), now, own_room=own_room)

    unusable: list[Reply] = []
    parts = isolation.apart(
        batch, apply, lambda reply, _error: unusable.append(_unusable(reply)), name=_name
    )
    # If not even that can be applied, its claim expires, as if no reply had come.
    parts += isolation.apart(unusable, apply, lambda _reply, _error: None, name=_name)
    result = parts[0] if len(parts) == 1 else _add(parts)
    follow(result, now, is_taking=own_room is not None)
    return result


def follow(result: SettleResult, now: datetime | None = None, *, is_taking: bool = False) -> None:
    """Tell whoever has to know of a settlement; a caller that ``is_taking`` takes what is due."""
    if result.has_news:
        dispatch.report_later()
    if result.has_skipped:
        dispatch.wake_scheduler_after(waking.PASS_ON_SECONDS)
    if not is_taking:
        waking.wake(result.waited_for)
    waking.pass_on(now)


def _name(reply: Reply) -> str:
    return f"reply of step {reply.step_id}"


def _unusable(reply: Reply) -> Reply:
    # Transient: the call may well have had its effect, and the step must stay in doubt.
    fault = FaultRecord(
        "transient",
        UNUSABLE,
        "the agent's reply cannot be stored; its effect may have happened",
    )
    return Reply(reply.step_id, reply.claim_id, reply.attempt, fault=fault)


def _add(parts: Sequence[SettleResult]) -> SettleResult:
    return SettleResult(
        [claim for part in parts for claim in part.claims],
        {agent for part in parts for agent in part.waited_for},
        sum(part.applied for part in parts),
        sum(part.stale for part in parts),
        any(part.has_news for part in parts),
        any(part.has_skipped for part in parts),
    )
