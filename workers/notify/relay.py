"""The relay: tells submitters what happens to their processes.

Invariants: every sink is told every numbered row, in order and at least once; nobody's lock
and no transaction is held while something is sent; a sink that cannot be told holds up
neither its process nor, for longer than its own send, any other sink.  Any number of relays
may run: a claim keeps two from one sink, and the cursor shows whoever was overtaken.
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
from workers.notify.compose import Errand
from workers.notify.senders import Letter, NotSent, Undelivered, reply_queue, webhook
from workers.rules.backoff import Backoff
from workers.runtime.failpoints import around, durable
from workers.runtime.soft_limit import block_soft_limit
from workers.store import sinks
from workers.store.alerts import raise_alert
from workers.store.sinks import Place

log = logging.getLogger(__name__)

#: Time a relay has a sink to itself; long past the end of its last send.
CLAIM_SECONDS = 60.0
#: Time before the claim's end from which nothing more is begun under it.
MARGIN_SECONDS = 30.0
#: How often a relay that waits for a slow receiver looks for others to tell.
LOOK_SECONDS = 0.5
#: Time before what could not even be sent is tried again.
NOT_SENT_SECONDS = 5.0
#: Time a webhook that does not answer is left alone: at first, and at most.
REST_SECONDS = (2.0, 60.0)
#: Time after its rest for which it is remembered how long that was.
REMEMBERED_SECONDS = 60.0

Send = Callable[[Letter], object]
#: How one letter fared; None = delivered.
Outcome = Undelivered | NotSent | None
_Counted = TypeVar("_Counted")


@dataclass
class _Trip:
    """Sinks that are told together, one message each at a time."""

    errands: list[Errand]
    end: float

    @property
    def is_late(self) -> bool:
        """Say whether nothing more may be begun under its claims."""
        return monotonic() >= self.end


@dataclass
class Relay:
    """Tells the sinks of one kind.  One thread may run it at a time."""

    kind: str
    send: Send
    #: Trips under way at once, and sinks in one trip.
    slots: int
    depth: int
    #: Sinks of one owner under way at once: one that answers slowly must not take all slots.
    per_owner: int
    #: Those of one owner on one server: fewer, so that a dead server leaves room for the owner's
    #: others, though each process may have a path of its own there.
    per_server: int
    #: Those of one owner at one address: fewer again, so that a dead one leaves room on its server.
    per_place: int
    #: Until when a place is left alone, and how long that is.
    _rests: dict[Place, tuple[float, float]] = field(default_factory=dict)

    def run(self) -> int:
        """Tell every sink that is due; return how many messages arrived."""
        arrived = 0
        under_way: dict[Future[list[Outcome]], _Trip] = {}
        with ThreadPoolExecutor(self.slots, thread_name_prefix=f"report-{self.kind}") as pool:

            def begin(trip: _Trip) -> None:
                letters = [errand.letters[0] for errand in trip.errands]
                under_way[pool.submit(self._carry, letters)] = trip

            while True:
                for trip in self._take(list(under_way.values())):
                    begin(trip)
                if not under_way:
                    return arrived
                done, _ = wait(under_way, LOOK_SECONDS, return_when=FIRST_COMPLETED)
                count, goes_on = self._land([(under_way.pop(one), one.result()) for one in done])
                arrived += count
                for trip in goes_on:
                    begin(trip)

    def _take(self, under_way: Sequence[_Trip]) -> list[_Trip]:
        """Claim what there is room for, and return it in trips."""
        held = [errand.sink for trip in under_way for errand in trip.errands]
        busy = Counter(sink.owner for sink in held)
        on_server = Counter(sink.server for sink in held)
        at_place = Counter(sink.place for sink in held)
        trips: list[_Trip] = []
        while (free := self.slots - len(under_way) - len(trips)) > 0:
            end = monotonic() + CLAIM_SECONDS - MARGIN_SECONDS
            claimed = sinks.claim(
                self.kind,
                free * self.depth,
                CLAIM_SECONDS,
                not_of=_at_least(self.per_owner, busy),
                not_at=_at_least(self.per_place, at_place) | self._resting(),
                not_on=_at_least(self.per_server, on_server),
            )
            kept = []
            for sink in claimed:
                if (
                    busy[sink.owner] < self.per_owner
                    and on_server[sink.server] < self.per_server
                    and at_place[sink.place] < self.per_place
                ):
                    busy[sink.owner] += 1
                    on_server[sink.server] += 1
                    at_place[sink.place] += 1
                    kept.append(sink)
                else:
                    sinks.put_off(sink, 0)
            errands = [one for one in compose.errands(kept) if _may_leave(one)]
            trips += [
                _Trip(errands[begin : begin + self.depth], end)
                for begin in range(0, len(errands), self.depth)
            ]
            if not claimed:
                break
        return trips

    def _carry(self, letters: Sequence[Letter]) -> list[Outcome]:
        """Send letters, in a thread that touches no table; return how each fared."""
        block_soft_limit()
        outcomes: list[Outcome] = []
        for letter in letters:
            try:
                with around("relay.send"):
                    self.send(letter)
                outcomes.append(None)
            except Undelivered as problem:
                outcomes.append(problem)
            except NotSent as problem:
                log.warning("report_not_sent", extra={"kind": self.kind, "reason": str(problem)})
                return outcomes + [problem] * (len(letters) - len(outcomes))
            except Exception as error:
                log.exception("report_failed", extra={"kind": self.kind})
                outcomes.append(Undelivered("failed", error=type(error).__name__))
        return outcomes

    def _land(self, landed: Sequence[tuple[_Trip, list[Outcome]]]) -> tuple[int, list[_Trip]]:
        """Write how trips went; return how many letters arrived, and the trips that go on."""
        found = [
            (trip, errand, outcome)
            for trip, outcomes in landed
            for errand, outcome in zip(trip.errands, outcomes, strict=True)
        ]
        arrived: list[tuple[_Trip, Errand]] = []
        told: list[sinks.SinkProgress] = []
        for trip, errand, outcome in found:
            if outcome is None:
                letter = errand.letters.pop(0)
                is_over = not errand.letters or trip.is_late
                told.append(
                    sinks.SinkProgress(errand.sink, letter.sequence, letter.is_final, is_over)
                )
                arrived.append((trip, errand))
                self._rests.pop(errand.sink.place, None)
            elif isinstance(outcome, NotSent):
                sinks.put_off(errand.sink, NOT_SENT_SECONDS)
            else:
                self._fail(errand, outcome)
        moved = sinks.told(told)
        goes_on: dict[int, _Trip] = {}
        for (trip, errand), one in zip(arrived, told, strict=True):
            errand.sink.cursor = one.sequence
            if errand.sink.id in moved and not one.is_over:
                goes_on.setdefault(id(trip), _Trip([], trip.end)).errands.append(errand)
        return len(arrived), list(goes_on.values())

    def _fail(self, errand: Errand, problem: Undelivered) -> None:
        sink = errand.sink
        if problem.is_away:
            self._rest(sink.place)
        if problem.is_gone or sink.tries + 1 >= sas.report_tries:
            give_up(sink, problem)
            return
        backoff = Backoff(sas.report_backoff_base_seconds, sas.report_backoff_cap_seconds)
        delay = max(backoff.seconds(sink.tries + 1), problem.retry_after or 0)
        sinks.failed(sink, delay, problem.record)

    def _rest(self, place: Place) -> None:
        """Leave a place alone for a while: its next messages would only hang as long."""
        until, length = self._rests.get(place, (0.0, 0.0))
        if until <= monotonic():
            length = min(REST_SECONDS[1], max(REST_SECONDS[0], length * 2))
            self._rests[place] = (monotonic() + length, length)

    def _resting(self) -> set[Place]:
        """Return the places that are left alone now, and forget those that were long ago."""
        now = monotonic()
        for place, (until, _) in list(self._rests.items()):
            if until + REMEMBERED_SECONDS < now:
                del self._rests[place]
        return {place for place, (until, _) in self._rests.items() if until > now}


def _at_least(limit: int, counts: Counter[_Counted]) -> set[_Counted]:
    return {one for one, count in counts.items() if count >= limit}


def _may_leave(errand: Errand) -> bool:
    """Give up a webhook that nobody could check: its owner is closed, or was never known."""
    sink = errand.sink
    if sink.kind == "webhook" and not errand.letters[0].secrets:
        give_up(sink, Undelivered("no_secret"))
        return False
    return True


def give_up(sink: sinks.ClaimedSink, problem: Undelivered) -> None:
    """Send to a sink no more, and tell an operator, once per owner and address."""
    place = sink.address.partition("?")[0]
    # Together: nobody would look at a sink again that was given up without word of it.
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


#: How messages leave; ``workers.testing`` puts its own wire here.
senders: dict[str, Send] = {"queue": reply_queue.send, "webhook": webhook.send}


def _send_to_queue(letter: Letter) -> None:
    senders["queue"](letter)


def _send_to_webhook(letter: Letter) -> None:
    senders["webhook"](letter)


def report() -> int:
    """Tell everybody who is due, in this thread; return how many messages arrived."""
    return sum(relay.run() for relay in relays())
