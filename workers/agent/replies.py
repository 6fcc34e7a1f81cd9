"""Hand over replies: settle them here, or else file them on their rows for the Scheduler."""

import logging
from collections.abc import Callable, Sequence
from time import sleep

from django.db import InterfaceError, OperationalError, connection

from workers.exceptions import first_line
from workers.protocol.messages import Reply
from workers.runtime.soft_limit import soft_limit_masked
from workers.runtime.worker_identity import me
from workers.store.settle import filed_replies
from workers.wire import dispatch

#: Time between two tries to hand over a reply.
AGAIN_SECONDS = 0.5

log = logging.getLogger(__name__)

#: Settles replies in this process.
SettleHere = Callable[[Sequence[Reply]], object]


def hand_over(answers: Sequence[Reply], settle_here: SettleHere) -> Sequence[Reply]:
    """Hand over the replies of an agent; return those that the database did not take.

    Hand these over again until it has taken them or said that their claim no longer holds: no one
    else knows them.
    """
    if not answers:
        return ()
    with soft_limit_masked():
        try:
            settle_here(answers)
        except Exception:
            log.warning("replies_filed", extra={"replies": len(answers)}, exc_info=True)
            return _file(answers, settle_here)
    return ()


def hand_over_at_last(answers: Sequence[Reply], settle_here: SettleHere) -> None:
    """Hand over the replies of an agent, again until all are taken: only the hard limit ends it."""
    with soft_limit_masked():
        while answers := hand_over(answers, settle_here):
            sleep(AGAIN_SECONDS)


def hand_over_filed(step_ids: Sequence[int], settle_here: SettleHere) -> None:
    """Hand over replies filed on their steps: settle them here, or else wake the Scheduler."""
    if not step_ids:
        return
    with soft_limit_masked():
        try:
            if filed := filed_replies.of(step_ids):
                settle_here(filed)
        except Exception:
            log.warning("filed_replies_left", extra={"replies": len(step_ids)}, exc_info=True)
            dispatch.wake_scheduler()


def _file(answers: Sequence[Reply], settle_here: SettleHere) -> Sequence[Reply]:
    """File replies on their steps, one by one, and settle them; return those not filed."""
    filed: list[int] = []
    left: Sequence[Reply] = ()
    for index, answer in enumerate(answers):
        try:
            if filed_replies.file(answer, me("agent")):
                filed.append(answer.step_id)
        except (OperationalError, InterfaceError) as error:
            left = answers[index:]
            _note_away(len(left), error)
            break
    hand_over_filed(filed, settle_here)
    return left


def file(reply: Reply) -> bool:
    """File a reply; retry until the database answers, also past complete-by.

    The first sweep after an outage extends the deadlines that passed meanwhile, so only the
    database can tell that a reply is late.  False: its claim no longer holds.
    """
    while True:
        try:
            return filed_replies.file(reply, me("agent"))
        except (OperationalError, InterfaceError) as error:
            _note_away(1, error)
            sleep(AGAIN_SECONDS)


def _note_away(count: int, error: Exception) -> None:
    log.warning("filing_again", extra={"replies": count, "reason": first_line(error)})
    connection.close()
