"""Orders of every kind, each brought where it stands by the engine itself.

Only the services are scripted, and the clock stands still until it is moved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.contrib.auth import get_user_model

from orders import demo_data
from orders.models import Order, Product
from orders.returning import accept_return
from orders.submission import Customer, Line, place_order
from workers.client import callbacks, operations
from workers.desk.store import alert_commands
from workers.exceptions import Permanent, Refused, Transient, Unavailable
from workers.models import Alert, Flow, Sink
from workers.supervisor import beat_schedule
from workers.testing import Clock, Wire, always, dies, frozen_clock, scripted, wired

#: What the services answer where a specimen says nothing else.
WORKS = {
    "payment.charge": [always({"charge": "ch_specimen"})],
    "payment.refund": [always({"refund": "re_specimen"})],
    "shipping.book": [always({"parcel": "pa_specimen"})],
    "shipping.cancel": [always({})],
    "courier.book": [always({"parcel": "co_specimen"})],
    "courier.cancel": [always({})],
    "billing.issue": [always({"invoice": "in_specimen"})],
    "billing.void": [always({})],
    "confirmation.send": [always({})],
}
#: Nobody has answered after so long; the longest time that an operator may give.
WAITS_SECONDS = 366 * 86_400


@dataclass(frozen=True, slots=True)
class Specimen:
    """An order to copy, and how many of a million orders are its copies."""

    number: int
    weight: int
    #: Its copies are of the last day: it waits for something that is to come.
    is_recent: bool


class Maker:
    """Places orders on a wire of its own, and takes each where it is wanted."""

    def __init__(self, wire: Wire, clock: Clock) -> None:
        self.wire, self.clock = wire, clock
        self.made: list[Specimen] = []
        self._skus = list(Product.objects.order_by("sku").values_list("sku", flat=True))

    def order(
        self, weight: int, *, is_recent: bool = False, quantity: int = 2, source: str = "shop"
    ) -> Order:
        """Place an order of one to three products; it has not moved yet."""
        place = len(self.made)
        skus = [self._skus[(place * 5 + n) % len(self._skus)] for n in range(1 + place % 3)]
        submitter = "client:acme" if source in ("api", "queue") else ""
        order, _ = place_order(
            Customer("Ann Other", f"specimen{place}@example.org", "1 Some Road\nSomewhere"),
            [Line(sku, quantity) for sku in skus],
            submission_key=f"specimen-{place}",
            source=source,
            submitter=submitter,
            reply_to="replies.acme.orders" if source == "queue" else "",
        )
        self.made.append(Specimen(order.number, weight, is_recent))
        return order

    def settled(self, answers: dict | None = None, **order: object) -> Order:
        """Place an order and run it until nothing is due any more."""
        placed = self.order(**order)  # type: ignore[arg-type]
        with scripted(_script(answers)):
            self.wire.run_until_settled(self.clock)
        return placed

    def standing(self, answers: dict | None = None, **order: object) -> Order:
        """Place an order and run it until nothing moves, without letting time pass."""
        placed = self.order(is_recent=True, **order)  # type: ignore[arg-type]
        with scripted(_script(answers)):
            self.wire.run_until_idle()
        return placed


def make() -> list[Specimen]:
    """Make products, users and one order of each kind; return what to copy."""
    demo_data.seed(with_users=True)
    get_user_model().objects.create_superuser("admin", "admin@example.org", "admin")
    beat_schedule.ensure_flow()
    with wired() as wire, frozen_clock() as clock:
        maker = Maker(wire, clock)
        for kind in (*_ended(maker), *_in_error(maker), *_waiting(maker)):
            kind()
        wire.drop_all()
    # The breakers that the faults opened.
    Flow.objects.update(unavailable_streak=0, opened_at=None, open_until=None)
    return maker.made


def _script(answers: dict | None) -> dict:
    """Return what services answer: first what is said here, then that it works."""
    said = answers or {}
    return {name: [*said.get(name, []), *works] for name, works in WORKS.items()}


def _ended(maker: Maker) -> list[Callable[[], object]]:
    ended = maker.settled
    slow = Transient("http_500", "the service answered 500")
    return [
        *(partial(ended, weight=100_000, source=source) for source in ("shop", "api", "demo") * 2),
        *(partial(ended, weight=75_000, source="queue") for _ in range(3)),
        partial(ended, {"payment.charge": [slow]}, weight=45_000),
        partial(ended, {"shipping.book": [dies]}, weight=20_000),
        partial(ended, {"payment.charge": [Refused("card_declined", "no")]}, weight=20_000),
        partial(_accepted, maker),
        partial(_cancelled, maker),
        partial(_resubmitted, maker),
        partial(_untold, maker),
    ]


def _in_error(maker: Maker) -> list[Callable[[], object]]:
    broken = always(Permanent("http_400", "the service answered 400"))
    slow = always(Transient("http_500", "the service answered 500"))
    lost = Refused("undeliverable_address", "nobody lives there")
    return [
        partial(maker.settled, {"payment.charge": [broken]}, weight=5_000),
        partial(maker.settled, {"payment.charge": [slow]}, weight=2_000, source="api"),
        partial(maker.settled, {"billing.issue": [broken]}, weight=1_000),
        partial(
            maker.settled,
            {"shipping.book": [lost], "courier.book": [lost], "payment.refund": [broken]},
            weight=500,
        ),
    ]


def _waiting(maker: Maker) -> list[Callable[[], object]]:
    away = always(Unavailable("http_503", "the service answered 503"))
    return [
        partial(_expired_twice, maker),
        partial(_asked, maker),
        partial(_coming_back, maker),
        partial(maker.standing, {"payment.charge": [away]}, weight=3_000),
        partial(_paused, maker),
        partial(maker.order, weight=5_000, is_recent=True),
    ]


def _accepted(maker: Maker) -> None:
    order = maker.order(weight=15_000, quantity=60)
    with scripted(WORKS):
        maker.wire.run_until_idle()
        callbacks.complete_step(order.process_id, "review", {"approved": True}, actor="operator:a")
        maker.wire.run_until_settled(maker.clock)


def _cancelled(maker: Maker) -> None:
    slow = Transient("http_500", "the service answered 500")
    order = maker.order(weight=15_000)
    with scripted(_script({"payment.charge": [slow]})):
        maker.wire.run_until_idle()
        operations.undo(
            order.process_id, outcome="cancelled", actor="operator:a", reason="asked to"
        )
        maker.wire.run_until_settled(maker.clock)


def _resubmitted(maker: Maker) -> None:
    broken = Permanent("http_400", "the service answered 400")
    order = maker.settled({"payment.charge": [broken]}, weight=4_000)
    alert = Alert.objects.get(process=order.process_id)
    user = get_user_model().objects.get(username="admin")
    alert_commands.acknowledge(alert.pk, user.pk, "mended", actor="operator:ann")
    operations.resubmit(order.process_id, actor="operator:a", reason="mended")
    with scripted(WORKS):
        maker.wire.run_until_settled(maker.clock)


def _untold(maker: Maker) -> None:
    order = maker.settled(weight=1_000, source="queue")
    Sink.objects.filter(process=order.process_id).update(
        state="undeliverable", cursor=1, tries=9, problem={"code": "no_queue", "params": {}}
    )


def _expired_twice(maker: Maker) -> None:
    away = always(Unavailable("http_503", "the service answered 503"))
    maker.order(weight=500, is_recent=True)
    with scripted(_script({"payment.charge": [dies, dies, away]})):
        maker.wire.run_for(maker.clock, minutes=3)


def _asked(maker: Maker) -> None:
    order = maker.standing(weight=2_000, quantity=60)
    _waits_long(order.process_id, "review")


def _coming_back(maker: Maker) -> None:
    order = maker.standing(weight=1_000)
    process = accept_return(order, actor="operator:a")
    with scripted(WORKS):
        maker.wire.run_until_idle()
    _waits_long(process.pk, "await_parcel")


def _waits_long(process_id: int, step: str) -> None:
    operations.retime(process_id, step, WAITS_SECONDS, actor="operator:a", reason="no hurry")


def _paused(maker: Maker) -> None:
    order = maker.order(weight=500, is_recent=True)
    operations.pause(order.process_id, actor="operator:a", reason="the customer asked")
