"""Hand replies to the Scheduler: settle them here, send them, or file them on their rows."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import sleep

from django.db import InterfaceError, OperationalError, connection

from workers import scheduler
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

#: Settles replies in this process; if it raises, they are sent.  Filed ones are read from rows.
SettleHere = Callable[[Sequence[Reply], bool], object]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with its deadline."""

    reply: Reply
    deadline: Deadline


def hand_over(
    agent: Agent, answers: Sequence[Answer], settle_here: SettleHere | None = None
) -> int:
    """Hand over the replies of an agent; return how many of them count.

    Files replies of calls that must not be repeated, and those that the broker refuses.  Without
    ``settle_here``, sends the others to the Scheduler as messages.
    """
    if not answers:
        return 0
    with soft_limit_masked():
        if agent.effect == Effect.UNSAFE:
            return _file(answers, settle_here)
        replies = [answer.reply for answer in answers]
        if settle_here is not None and _settle(settle_here, replies):
            return len(answers)
        refused = answers[_dispatch(agent, replies) :]
        return len(answers) - len(refused) + _file(refused, None)


def settle_filed(step_ids: Sequence[int], settle_here: SettleHere | None) -> None:
    """Settle replies filed on their steps: here, or else by waking the Scheduler."""
    if not step_ids:
        return
    with soft_limit_masked():
        if settle_here is None:
            dispatch.wake_scheduler()
            return
        try:
            if filed := filed_replies.of(step_ids):
                settle_here(filed, True)
        except Exception:
            log.warning("filed_replies_left", extra={"replies": len(step_ids)}, exc_info=True)
            dispatch.wake_scheduler()


def settle_and_send(replies: Sequence[Reply], filed: bool) -> None:
    """Settle replies here and send the steps that they make ready."""
    scheduler.settle(replies, filed=filed)


def _settle(settle_here: SettleHere, replies: list[Reply]) -> bool:
    """Settle replies here.  False: the Scheduler has to; it finds already settled ones stale."""
    try:
        settle_here(replies, False)
    except Exception:
        log.warning("replies_left_to_scheduler", extra={"replies": len(replies)}, exc_info=True)
        return False
    return True


def _dispatch(agent: Agent, replies: list[Reply]) -> int:
    """Send replies as messages, in order; return how many of them the broker took."""
    count = 0
    try:
        for part in parcels([reply.size for reply in replies]):
            dispatch.send_replies(replies[part])
            count = part.stop
    except BrokerRefused as error:
        log.warning("reply_refused", extra={"agent": agent.name, "reason": str(error)})
    return count


def _file(answers: Sequence[Answer], settle_here: SettleHere | None) -> int:
    """File replies on their steps and settle them; return how many were in time."""
    filed = [answer.reply.step_id for answer in answers if file(answer.reply, answer.deadline)]
    settle_filed(filed, settle_here)
    return len(filed)


def file(reply: Reply, deadline: Deadline) -> bool:
    """File a reply; retry until complete-by while the database is unavailable.

    False: its claim no longer holds.
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
