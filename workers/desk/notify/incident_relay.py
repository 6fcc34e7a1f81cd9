"""The relay of incidents: sends routes the deliveries planned for them.

Every delivery is sent at least once, or given up after a bounded number of tries; those of one
route and incident leave in order.  No lock and no transaction is held during a send, and a dead
route holds up no other.  Any number of relays may run.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from workers.conf import sas
from workers.desk.notify import encoded_messages
from workers.desk.notify import incident_sender as incident
from workers.desk.notify.incident_sender import EncodedMessage
from workers.desk.store import deliveries
from workers.desk.store.deliveries import ClaimedDelivery
from workers.notify.senders.delivery import Answer, Undelivered
from workers.rules.backoff import Backoff
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import block_soft_limit
from workers.store.alerts import raise_alert

log = logging.getLogger(__name__)

#: Time of a relay's claim on a delivery; a send ends long before.
CLAIM_SECONDS = 120.0
#: How often a relay that waits for a slow receiver looks for other deliveries.
LOOK_SECONDS = 0.5
#: Time before a delivery is tried again whose message this code cannot write.
UNWRITABLE_SECONDS = 60.0
#: Between the tries of one delivery.
BACKOFF = Backoff(5.0, 300.0)

#: Result of sending one message.
Outcome = Answer | Undelivered | None


@dataclass
class IncidentRelay:
    """Sends deliveries to routes.  One thread may run it at a time."""

    kind: str = "incident"
    #: Messages under way at once; and of one route, so that a dead one leaves room for others.
    slots: int = 8
    per_route: int = 2

    def run(self) -> int:
        """Send every delivery that is due; return how many messages arrived."""
        arrived = 0
        under_way: dict[Future[Outcome], ClaimedDelivery] = {}
        with ThreadPoolExecutor(self.slots, thread_name_prefix="incident") as pool:
            while True:
                for delivery, message in self._take(list(under_way.values())):
                    under_way[pool.submit(_deliver, message)] = delivery
                if not under_way:
                    return arrived
                done, _ = wait(under_way, LOOK_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    arrived += _record(under_way.pop(future), future.result())

    def _take(
        self, under_way: Sequence[ClaimedDelivery]
    ) -> list[tuple[ClaimedDelivery, EncodedMessage]]:
        """Claim as many deliveries as there is room for, and write their messages."""
        busy = Counter(delivery.route_id for delivery in under_way)
        batch: list[ClaimedDelivery] = []
        while (free := self.slots - len(under_way) - len(batch)) > 0:
            full = [route_id for route_id, count in busy.items() if count >= self.per_route]
            claimed = deliveries.claim(free, CLAIM_SECONDS, not_of=full)
            for delivery in claimed:
                if busy[delivery.route_id] < self.per_route:
                    busy[delivery.route_id] += 1
                    batch.append(delivery)
                else:
                    deliveries.put_off(delivery, 0)
            if not claimed:
                break
        pairs = []
        for delivery, message in zip(batch, encoded_messages.write(batch), strict=True):
            if message is None:
                deliveries.put_off(delivery, UNWRITABLE_SECONDS)
            else:
                pairs.append((delivery, message))
        return pairs


def _deliver(message: EncodedMessage) -> Outcome:
    """Send a message, in a thread that touches no table; return the result."""
    block_soft_limit()
    try:
        with around("incident_relay.send"):
            return incident.send(message)
    except Undelivered as problem:
        return problem
    except Exception as error:
        log.exception("incident_not_told", extra={"kind": message.kind})
        return Undelivered("failed", error=type(error).__name__)


def _record(delivery: ClaimedDelivery, outcome: Outcome) -> bool:
    """Write the result of sending a delivery; return whether it arrived."""
    if not isinstance(outcome, Undelivered):
        status, text = (outcome.status, outcome.text) if outcome else (None, "")
        deliveries.delivered(delivery, status, text)
        return True
    status = outcome.answer.status if outcome.answer else None
    text = outcome.answer.text if outcome.answer else ""
    if outcome.is_gone or delivery.tries + 1 >= sas.report_tries:
        _give_up(delivery, status, text, outcome)
    else:
        delay = max(BACKOFF.seconds(delivery.tries + 1), outcome.retry_after or 0)
        deliveries.failed(delivery, delay, status, text, problem=outcome.record)
    return False


def _give_up(
    delivery: ClaimedDelivery, status: int | None, text: str, problem: Undelivered
) -> None:
    """Give a delivery up, and raise an alert that the other routes are told of."""
    # In one transaction: a delivery given up without an alert would never be noticed.
    with durable("incident_relay.give_up"):
        if deliveries.give_up(delivery, status, text, problem=problem.record):
            raise_alert(
                "route_undeliverable",
                params={"route": delivery.route_id, "problem": problem.record},
                subject=str(delivery.route_id),
            )


def test(route_id: int, *, actor: str) -> bool:
    """Send a test to a route at once, in this thread; return whether it arrived.

    It is not tried again.  The answer is stored with the delivery, the route's newest.
    """
    delivery = deliveries.note_test(route_id, CLAIM_SECONDS, actor=actor)
    if delivery is None:
        return False
    (message,) = encoded_messages.write([delivery])
    outcome = Undelivered("unwritable") if message is None else _deliver(message)
    if isinstance(outcome, Undelivered):
        status = outcome.answer.status if outcome.answer else None
        text = outcome.answer.text if outcome.answer else ""
        deliveries.give_up(delivery, status, text, problem=outcome.record)
        return False
    return _record(delivery, outcome)
