"""Tell installations' messages apart, so that two may share a broker without harm.

A message carries the id of the installation that sent it.  A message of another installation is
never processed: it is put back for its owner, and if that does not take it within some seconds, set
aside in a queue that no worker reads.  A message without an id is ours: older code sent it.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from kombu import Exchange, Queue

from workers.exceptions import AWAY, first_line
from workers.runtime.failpoints import around
from workers.store import alerts
from workers.wire import publisher
from workers.wire.installation import HEADER, own_id

log = logging.getLogger(__name__)

#: How often a message was put back for its owner.
HOPS = "sas_hops"
#: After this many times, with rests of 8 s in total, it is set aside.
MOST_HOPS = 12
FIRST_REST_SECONDS, LONGEST_REST_SECONDS = 0.05, 1.0
#: How long messages of an owner that did not take one are set aside at once.
ABSENT_SECONDS = 60.0
#: The queue for messages set aside; see "Operating limits" in the documentation.
STRANGERS = "sas.strangers"
MOST_SET_ASIDE = 1000
#: How often one process raises the alert about one installation.
TELL_SECONDS = 60.0


def foreign_sender(headers: Mapping[str, Any]) -> str | None:
    """Return the id of the other installation that sent a message; None: it is ours."""
    sender = headers.get(HEADER)
    if not sender:
        return None
    own = own_id()
    return None if own is None or sender == own else str(sender)


class _Owners:
    """This process's knowledge of other installations."""

    def __init__(self) -> None:
        self.absent_until: dict[str, float] = {}
        self.told_at: dict[str, float] = {}


_owners = _Owners()


@around("neighbours.pass_on")
def pass_on(
    sender: str,
    task: str,
    args: Sequence[Any],
    queue: str,
    *,
    hops: int,
    limits: Mapping[str, Any],
) -> None:
    """Put a message of another installation back for its owner, or set it aside.

    Raises ``BrokerRefused`` if the broker takes it in neither queue.
    """
    _tell(sender, task, queue)
    now = time.monotonic()
    if hops >= MOST_HOPS:
        _owners.absent_until[sender] = now + ABSENT_SECONDS
    headers = {HEADER: sender, HOPS: hops + 1}
    if now < _owners.absent_until.get(sender, 0.0):
        log.warning("foreign_message_set_aside", extra={"task": task, "installation": sender})
        publisher.publish(task, list(args), _strangers(), headers=headers, **limits)
        return
    # Its owner's workers read the same queue, and take it unless they are busy for a long time.
    time.sleep(rest_seconds(hops))
    publisher.publish(task, list(args), queue, headers=headers, **limits)


def rest_seconds(hops: int) -> float:
    """Return how long a message that was put back ``hops`` times waits before the next time."""
    return float(min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2**hops))


def _strangers() -> Queue:
    return Queue(
        STRANGERS,
        Exchange("sas", type="direct"),
        routing_key=STRANGERS,
        queue_arguments={"x-queue-type": "classic", "x-max-length": MOST_SET_ASIDE},
    )


def _tell(sender: str, task: str, queue: str) -> None:
    """Log, and alert operators, that messages of another installation arrive here."""
    now = time.monotonic()
    if now - _owners.told_at.get(sender, -TELL_SECONDS) < TELL_SECONDS:
        return
    _owners.told_at[sender] = now
    params = {"installation": sender, "own": own_id(), "queue": queue}
    log.warning("foreign_message", extra={"task": task, **params})
    try:
        alerts.raise_alert("foreign_messages", params=params, subject=sender)
    except AWAY as away:
        log.warning("database_away", extra={"reason": first_line(away)})
