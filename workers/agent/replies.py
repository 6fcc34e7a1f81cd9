"""Handing replies to the Scheduler: settled here, sent as messages, or kept on their rows."""

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

#: Settles replies in this process; whatever it raises, they are sent then.  Filed ones are read
#: from their rows.
SettleHere = Callable[[Sequence[Reply], bool], object]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, and until when it counts."""

    reply: Reply
    deadline: Deadline


def hand_over(
    agent: Agent, answers: Sequence[Answer], settle_here: SettleHere | None = None
) -> int:
    """Hand over the replies of an agent; return how many of them count.

    Those of calls that must not be repeated are filed, and so are those that the broker refuses.
    Without ``settle_here`` the Scheduler gets the others as messages.
    """
    if not answers:
        return 0
    with soft_limit_masked():
        if agent.effect == Effect.UNSAFE:
            return _file(answers, settle_here)
        replies = [answer.reply for answer in answers]
        if settle_here is not None and _settled(settle_here, replies):
            return len(answers)
        refused = answers[_sent(agent, replies) :]
        return len(answers) - len(refused) + _file(refused, None)


def settle_filed(step_ids: Sequence[int], settle_here: SettleHere | None) -> None:
    """Have replies settled that were filed on their steps: here, or else by the Scheduler."""
    if not step_ids:
        return
    with soft_limit_masked():
        if settle_here is None:
            dispatch.nudge()
            return
        try:
            if filed := filed_replies.of(step_ids):
                settle_here(filed, True)
        except Exception:
            log.warning("filed_replies_left", extra={"replies": len(step_ids)}, exc_info=True)
            dispatch.nudge()


def settle_and_send(replies: Sequence[Reply], filed: bool) -> None:
    """Settle replies here and send what they make ready."""
    scheduler.settle(replies, filed=filed)


def _settled(settle_here: SettleHere, replies: list[Reply]) -> bool:
    """Settle replies here.  False: the Scheduler has to, and finds settled ones stale."""
    try:
        settle_here(replies, False)
    except Exception:
        log.warning("replies_left_to_scheduler", extra={"replies": len(replies)}, exc_info=True)
        return False
    return True


def _sent(agent: Agent, replies: list[Reply]) -> int:
    """Send replies as messages; return how many of them the broker took, in their order."""
    sent = 0
    try:
        for part in parcels([reply.size for reply in replies]):
            dispatch.send_replies(replies[part])
            sent = part.stop
    except BrokerRefused as error:
        log.warning("reply_refused", extra={"agent": agent.name, "reason": str(error)})
    return sent


def _file(answers: Sequence[Answer], settle_here: SettleHere | None) -> int:
    """File replies on their steps and have them settled; return how many were in time."""
    filed = [answer.reply.step_id for answer in answers if file(answer.reply, answer.deadline)]
    settle_filed(filed, settle_here)
    return len(filed)


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
