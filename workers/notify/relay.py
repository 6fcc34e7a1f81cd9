"""The relay notifies submitters about their processes.

Invariants: every sink is told every numbered row, in order and at least once; no lock and no
transaction is held while a message is sent; a sink that cannot be told holds up neither its
process nor, for longer than its own send, any other sink.  Any number of relays may run: a claim
keeps two from one sink, and the cursor shows a relay that another has overtaken it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from time import monotonic
from typing import TypeVar

from workers.conf import sas
from workers.notify import compose
from workers.notify.compose import PendingStatus
from workers.notify.senders import NotSent, StatusMessage, Undelivered, reply_queue, webhook
from workers.rules.backoff import Backoff
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import block_soft_limit
from workers.store import sinks
from workers.store.alerts import raise_alert
from workers.store.sinks import Place

log = logging.getLogger(__name__)

#: How long a relay claims a sink: far longer than its sends take.
CLAIM_SECONDS = 60.0
#: Time before the end of a claim in which no more sends start under it.
MARGIN_SECONDS = 30.0
#: How often a relay that waits for a slow receiver looks for other due sinks.
LOOK_SECONDS = 0.5
#: Time before a message that could not be sent at all is tried again.
NOT_SENT_SECONDS = 5.0
#: How long a webhook that does not answer is not called: at first, and at most.
REST_SECONDS = (2.0, 60.0)
#: How long after its rest the length of the rest is remembered.
REMEMBERED_SECONDS = 60.0

Send = Callable[[StatusMessage], object]
#: The outcome of one message; None = delivered.
Outcome = Undelivered | NotSent | None
_Counted = TypeVar("_Counted")


@dataclass
class _Batch:
    """Sinks that are told together, one message each at a time."""

    statuses: list[PendingStatus]
    end: float

    @property
    def is_late(self) -> bool:
        """Say whether no more sends may start under its claims."""
        return monotonic() >= self.end


@dataclass
class Relay:
    """Tells the sinks of one kind.  One thread may run it at a time."""

    kind: str
    send: Send
    #: The most batches under way, and the most sinks in one batch.
    slots: int
    depth: int
    #: The most sinks of one owner under way: a slow owner must not take all slots.
    per_owner: int
    #: The most of one owner on one server: fewer, so that a dead server leaves room for the
    #: owner's other servers, though each process may have its own path there.
    per_server: int
    #: The most of one owner at one address: fewer again, so that a dead address leaves room on its
    #: server.
    per_place: int
    #: Until when a place is not called, and the length of that rest.
    _rests: dict[Place, tuple[float, float]] = field(default_factory=dict)

    def run(self) -> int:
        """Tell every sink that is due; return how many messages arrived."""
        arrived = 0
        under_way: dict[Future[list[Outcome]], _Batch] = {}
        with ThreadPoolExecutor(self.slots, thread_name_prefix=f"report-{self.kind}") as pool:

            def begin(batch: _Batch) -> None:
                messages = [status.messages[0] for status in batch.statuses]
                under_way[pool.submit(self._deliver, messages)] = batch

            while True:
                for batch in self._take(list(under_way.values())):
                    begin(batch)
                if not under_way:
                    return arrived
                done, _ = wait(under_way, LOOK_SECONDS, return_when=FIRST_COMPLETED)
                count, goes_on = self._record([(under_way.pop(f), f.result()) for f in done])
                arrived += count
                for batch in goes_on:
                    begin(batch)

    def _take(self, under_way: Sequence[_Batch]) -> list[_Batch]:
        """Claim due sinks for which there is room, in batches."""
        held = [status.sink for batch in under_way for status in batch.statuses]
        busy = Counter(sink.owner for sink in held)
        on_server = Counter(sink.server for sink in held)
        at_place = Counter(sink.place for sink in held)
        batches: list[_Batch] = []
        while (free := self.slots - len(under_way) - len(batches)) > 0:
            end = monotonic() + CLAIM_SECONDS - MARGIN_SECONDS
            claimed = sinks.claim(
                self.kind,
                free * self.depth,
                CLAIM_SECONDS,
                not_of=_at_least(self.per_owner, busy),
                not_at=_at_least(self.per_place, at_place) | self._resting(),
                not_on=_at_least(self.per_server, on_server),
            )
            accepted = []
            for sink in claimed:
                if (
                    busy[sink.owner] < self.per_owner
                    and on_server[sink.server] < self.per_server
                    and at_place[sink.place] < self.per_place
                ):
                    busy[sink.owner] += 1
                    on_server[sink.server] += 1
                    at_place[sink.place] += 1
                    accepted.append(sink)
                else:
                    sinks.put_off(sink, 0)
            statuses = [status for status in compose.pending(accepted) if _may_leave(status)]
            batches += [
                _Batch(statuses[begin : begin + self.depth], end)
                for begin in range(0, len(statuses), self.depth)
            ]
            if not claimed:
                break
        return batches

    def _deliver(self, messages: Sequence[StatusMessage]) -> list[Outcome]:
        """Send messages, in a thread that does not use the database; return their outcomes."""
        block_soft_limit()
        outcomes: list[Outcome] = []
        for message in messages:
            try:
                with around("relay.send"):
                    self.send(message)
                outcomes.append(None)
            except Undelivered as problem:
                outcomes.append(problem)
            except NotSent as problem:
                log.warning("report_not_sent", extra={"kind": self.kind, "reason": str(problem)})
                return outcomes + [problem] * (len(messages) - len(outcomes))
            except Exception as error:
                log.exception("report_failed", extra={"kind": self.kind})
                outcomes.append(Undelivered("failed", error=type(error).__name__))
        return outcomes

    def _record(self, results: Sequence[tuple[_Batch, list[Outcome]]]) -> tuple[int, list[_Batch]]:
        """Write the outcomes; return how many messages arrived, and the batches that continue."""
        rows = [
            (batch, status, outcome)
            for batch, outcomes in results
            for status, outcome in zip(batch.statuses, outcomes, strict=True)
        ]
        arrived: list[tuple[_Batch, PendingStatus]] = []
        progress: list[sinks.SinkProgress] = []
        for batch, status, outcome in rows:
            if outcome is None:
                message = status.messages.pop(0)
                is_over = not status.messages or batch.is_late
                progress.append(
                    sinks.SinkProgress(status.sink, message.sequence, message.is_final, is_over)
                )
                arrived.append((batch, status))
                self._rests.pop(status.sink.place, None)
            elif isinstance(outcome, NotSent):
                sinks.put_off(status.sink, NOT_SENT_SECONDS)
            else:
                self._fail(status, outcome)
        moved_ids = sinks.told(progress)
        goes_on: dict[int, _Batch] = {}
        for (batch, status), item in zip(arrived, progress, strict=True):
            status.sink.cursor = item.sequence
            if status.sink.id in moved_ids and not item.is_over:
                goes_on.setdefault(id(batch), _Batch([], batch.end)).statuses.append(status)
        return len(arrived), list(goes_on.values())

    def _fail(self, status: PendingStatus, problem: Undelivered) -> None:
        sink = status.sink
        if problem.is_away:
            self._rest(sink.place)
        if problem.is_gone or sink.tries + 1 >= sas.report_tries:
            give_up(sink, problem)
            return
        backoff = Backoff(sas.report_backoff_base_seconds, sas.report_backoff_cap_seconds)
        delay = max(backoff.seconds(sink.tries + 1), problem.retry_after or 0)
        sinks.failed(sink, delay, problem.record)

    def _rest(self, place: Place) -> None:
        """Rest a place for a while: its next messages would only hang as long."""
        until, length = self._rests.get(place, (0.0, 0.0))
        if until <= monotonic():
            length = min(REST_SECONDS[1], max(REST_SECONDS[0], length * 2))
            self._rests[place] = (monotonic() + length, length)

    def _resting(self) -> set[Place]:
        """Return the places at rest now, and forget rests that ended long ago."""
        now = monotonic()
        for place, (until, _) in list(self._rests.items()):
            if until + REMEMBERED_SECONDS < now:
                del self._rests[place]
        return {place for place, (until, _) in self._rests.items() if until > now}


def _at_least(limit: int, counts: Counter[_Counted]) -> set[_Counted]:
    return {key for key, count in counts.items() if count >= limit}


def _may_leave(status: PendingStatus) -> bool:
    """Give up a webhook that cannot be signed: its owner is closed or unknown."""
    sink = status.sink
    if sink.kind == "webhook" and not status.messages[0].secrets:
        give_up(sink, Undelivered("no_secret"))
        return False
    return True


def give_up(sink: sinks.ClaimedSink, problem: Undelivered) -> None:
    """Stop sending to a sink, and raise an alert, once per owner and address."""
    place = sink.address.partition("?")[0]
    # In one transaction: without the alert, no one would notice the sink.
    with durable("relay.give_up"):
        if not sinks.give_up(sink, problem.record):
            return
        raise_alert(
            "sink_undeliverable",
            params={
                "says": ["owner" if sink.owner else "nobody", "mend"],
                "owner": sink.owner,
                "kind": sink.kind,
                "place": place[:200],
                "problem": problem.record,
            },
            subject=sinks.mark(sink.kind, sink.owner, sink.address),
        )


def relays() -> list[Relay]:
    """Return a new relay of each kind."""
    return [
        Relay(
            *("queue", _send_to_queue),
            slots=1,
            depth=100,
            per_owner=100,
            per_server=100,
            per_place=100,
        ),
        Relay(
            *("webhook", _send_to_webhook),
            slots=20,
            depth=1,
            per_owner=5,
            per_server=4,
            per_place=3,
        ),
    ]


#: Sends messages; ``workers.testing`` replaces it with its own wire.
senders: dict[str, Send] = {"queue": reply_queue.send, "webhook": webhook.send}


def _send_to_queue(message: StatusMessage) -> None:
    senders["queue"](message)


def _send_to_webhook(message: StatusMessage) -> None:
    senders["webhook"](message)


def report() -> int:
    """Notify all due sinks, in this thread; return how many messages arrived."""
    return sum(relay.run() for relay in relays())
