"""Handing replies to the Scheduler: as messages, or on their rows where that is not enough."""

import logging
from collections.abc import Callable, Sequence
from time import sleep

from django.db import InterfaceError, OperationalError, connection

from workers.definitions.agent import Agent, Deadline
from workers.definitions.effects import Effect
from workers.exceptions import BrokerRefused
from workers.protocol.messages import Reply, parcels
from workers.runtime.soft_limit import soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.settle import filed_replies
from workers.wire import dispatch

#: Time between two tries to file a reply.
FILE_AGAIN_SECONDS = 0.5

log = logging.getLogger(__name__)

#: Settles the last replies of a bundle in this process; whatever it raises, they are sent then.
SettleHere = Callable[[Sequence[Reply]], None]


def hand_over(
    agent: Agent, replies: list[Reply], deadline: Deadline, settle_here: SettleHere | None = None
) -> int:
    """Hand over the replies of an agent; return how many of them count.

    Those of calls that must not be repeated are filed, and so are those that the broker refuses.
    """
    count = len(replies)
    if not replies:
        return 0
    with soft_limit_masked():
        if agent.effect != Effect.UNSAFE:
            if settle_here is not None and _settled(settle_here, replies):
                return count
            replies = _unsent(agent, replies)
        if not replies:
            return count
        filed = sum(file(reply, deadline) for reply in replies)
        dispatch.nudge()
    return count - len(replies) + filed


def _settled(settle_here: SettleHere, replies: list[Reply]) -> bool:
    """Settle replies here.  False: the Scheduler has to, and finds settled ones stale."""
    try:
        settle_here(replies)
    except Exception:
        log.warning("replies_left_to_scheduler", extra={"replies": len(replies)}, exc_info=True)
        return False
    return True


def _unsent(agent: Agent, replies: list[Reply]) -> list[Reply]:
    """Send replies as messages; return those that the broker did not take."""
    sent = 0
    try:
        for part in parcels([reply.size for reply in replies]):
            dispatch.send_replies(replies[part])
            sent = part.stop
    except BrokerRefused as error:
        log.warning("reply_refused", extra={"agent": agent.name, "reason": str(error)})
    return replies[sent:]


def file(reply: Reply, deadline: Deadline) -> bool:
    """File a reply, again and again until complete-by while the database is away.

    False: its claim does not hold any more.
    """
    while True:
        try:
            return filed_replies.file(reply, me("agent"))
        except (OperationalError, InterfaceError):
            if deadline.is_past_complete_by():
                raise
            log.warning("filing_again", extra={"step_id": reply.step_id}, exc_info=True)
            connection.close()
            sleep(FILE_AGAIN_SECONDS)
