"""What must be true of orders and of the outside world, beside the engine's invariants.

The sandbox's ledgers are the outside witness: every effect is in them, whatever our own
rows say.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

import httpx2
from django.db.models import Exists, OuterRef, Sum

from orders.models import Order, Reservation
from orders.sandbox.services import SERVICES
from workers.models import Process, Step
from workers.operate.invariant_check import (
    STATEMENT_SECONDS,
    Look,
    Progress,
    Result,
    check_one,
    slices,
)
from workers.operate.invariants import Violation
from workers.states import FINAL_PROCESS_STATES, LIVE_STEP_STATES, ProcessState

#: The operation that has an effect -> the one that undoes it, by service.
EFFECTS = {
    "payment": ("charge", "refund"),
    "shipping": ("book", "cancel"),
    "courier": ("book", "cancel"),
    "billing": ("issue", "void"),
}
#: The workflow's step -> the services of which one has its effect.
STEP_SERVICES = {
    "charge_payment": ("payment",),
    "book_shipment": ("shipping", "courier"),
    "issue_invoice": ("billing",),
}
#: Ended without its effects.
UNDONE = FINAL_PROCESS_STATES - {ProcessState.PROCESSED}

IsOurs = Callable[[int], bool]
#: The effects that stand, by service and order.
Standing = Mapping[str, Counter[int]]

#: What is checked of our own rows, and what with the ledgers as well.
OWN_NAMES = ("order_has_process", "stock_is_reserved_once")
NAMES = (
    *OWN_NAMES,
    "effects_happen_once",
    "processed_means_done",
    "money_adds_up",
    "undone_means_undone",
    "returned_means_refunded",
)


@dataclass(frozen=True, slots=True)
class Ledgers:
    """What the remote services remember, by service: lists of effects."""

    effects: dict[str, list[dict[str, Any]]]
    faults: dict[str, dict[str, int]]

    @classmethod
    def read(cls, sandbox_url: str) -> "Ledgers":
        """Read every ledger; raise ``httpx2.HTTPError`` when the sandbox does not answer."""
        with httpx2.Client(base_url=sandbox_url, timeout=10, trust_env=False) as client:
            answers = {
                service: client.get(f"/{service}/ledger").raise_for_status().json()
                for service in SERVICES
            }
        return cls(
            {service: answer["effects"] for service, answer in answers.items()},
            {service: answer["faults"] for service, answer in answers.items()},
        )

    def standing(self, service: str) -> Counter[int]:
        """Count each order's effects at a service that were not undone."""
        forward, undo = EFFECTS[service]
        counts: Counter[int] = Counter()
        for effect in self.effects[service]:
            if effect["operation"] == forward:
                counts[effect["order"]] += 1
            elif effect["operation"] == undo:
                counts[effect["order"]] -= 1
        return counts

    def duplicates(self) -> list[tuple[str, int, int]]:
        """Return (service, order, effects) wherever more than one effect stands."""
        return [
            (service, order, count)
            for service in EFFECTS
            for order, count in sorted(self.standing(service).items())
            if count > 1
        ]


def violations(ledgers: Ledgers | None, numbers: Collection[int] | None = None) -> list[Violation]:
    """Return every row that breaks an invariant; without ledgers, of our own rows only.

    ``numbers`` restricts the check to these orders, where the database is older than the
    ledgers and holds orders that they cannot know.
    """
    return [broken for result in check(ledgers, numbers) for broken in result.violations]


def check(
    ledgers: Ledgers | None,
    numbers: Collection[int] | None = None,
    progress: Progress = lambda name, done, of: None,
    *,
    seconds: float = STATEMENT_SECONDS,
) -> Iterator[Result]:
    """Check the shop's invariants one by one; without ledgers, those of our own rows."""
    is_ours: IsOurs = (lambda number: True) if numbers is None else frozenset(numbers).__contains__
    processes = slices("workers_process", "id")
    yield check_one("order_has_process", _unowned_processes, processes, progress, seconds)
    looks: dict[str, Look] = {"stock_is_reserved_once": partial(_stock, is_ours)}
    if ledgers is not None:
        known = {name: ledgers.standing(name) for name in EFFECTS}
        looks |= {
            "effects_happen_once": partial(_doubled, ledgers, is_ours),
            "processed_means_done": partial(_effects_that_are_missing, known, is_ours),
            "money_adds_up": partial(_money, ledgers, is_ours),
            "undone_means_undone": partial(_effects_that_remain, known, is_ours),
            "returned_means_refunded": partial(_refunds_that_are_missing, known, is_ours),
        }
    orders = slices("orders_order", "number")
    for name, look in looks.items():
        yield check_one(name, look, orders, progress, seconds)


def _unowned_processes(first: int, last: int) -> list[Violation]:
    says = "An order and its process exist together or not at all."
    owned = Order.objects.filter(process=OuterRef("pk"))
    some = Process.objects.filter(workflow="fulfilment", pk__range=(first, last))
    return [
        Violation("order_has_process", says, process.subject, "a process without its order")
        for process in some.filter(~Exists(owned)).defer("input")
    ]


def _stock(is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "What was reserved is what the orders' processed steps say, once each."
    returned = _returned(first, last)
    reserved = Reservation.objects.filter(released_at=None, order__number__range=(first, last))
    by_order = dict(reserved.values_list("order_id").annotate(n=Sum("quantity")))
    # What was done by hand may be anything.
    done = Step.objects.filter(
        process=OuterRef("process"), name="reserve_stock", state="processed", is_by_hand=False
    )
    orders = Order.objects.filter(Exists(done), number__range=(first, last))
    wanted = dict(orders.values_list("number").annotate(n=Sum("lines__quantity")))
    return [
        Violation(
            "stock_is_reserved_once",
            says,
            f"Order {number}",
            f"reserved {by_order.get(number, 0)}, ordered {wanted[number]}",
        )
        for number in sorted(wanted)
        if is_ours(number)
        and number not in returned
        and wanted[number] is not None
        and by_order.get(number, 0) != wanted[number]
    ]


def _doubled(ledgers: Ledgers, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "No service has more than one effect per order that was not undone."
    return [
        Violation("effects_happen_once", says, f"Order {order}", f"{service}: {count} effects")
        for service, order, count in ledgers.duplicates()
        if is_ours(order) and first <= order <= last
    ]


def _effects_that_are_missing(
    known: Standing, is_ours: IsOurs, first: int, last: int
) -> list[Violation]:
    says = "A processed step's effect is in the ledger, unless a person did it."
    found = []
    returned = _returned(first, last)
    for step_name, services in STEP_SERVICES.items():
        # While a process is being undone its effects go before its rows say so.
        done = Step.objects.filter(
            ~Exists(Step.objects.filter(undoes=OuterRef("pk"), state__in=LIVE_STEP_STATES)),
            process=OuterRef("process"),
            name=step_name,
            state="processed",
        ).exclude(process__state="compensating")
        orders = Order.objects.filter(Exists(done), number__range=(first, last)).annotate(
            is_by_hand=Exists(done.filter(is_by_hand=True))
        )
        for number, is_by_hand in orders.values_list("number", "is_by_hand"):
            # By hand alone, or after a call that the service has carried out after all.
            may_be = {0, 1} if number in returned or is_by_hand else {1}
            count = sum(known[service][number] for service in services)
            if is_ours(number) and count not in may_be:
                found.append(
                    Violation(
                        "processed_means_done",
                        says,
                        f"Order {number}",
                        f"{step_name}: {count} effects",
                    )
                )
    return found


def _returned(first: int, last: int) -> frozenset[int]:
    """Return those of some orders whose return has begun."""
    begun = Process.objects.filter(
        workflow="return", input__order__gte=first, input__order__lte=last
    )
    return frozenset(begun.values_list("input__order", flat=True))


def _refunds_that_are_missing(
    known: Standing, is_ours: IsOurs, first: int, last: int
) -> list[Violation]:
    says = "What was returned is paid back and in stock again, once."
    done = Process.objects.filter(
        workflow="return",
        state=ProcessState.PROCESSED,
        input__order__gte=first,
        input__order__lte=last,
    )
    charges = known["payment"]
    out = frozenset(
        Reservation.objects.filter(
            released_at=None, order__number__range=(first, last)
        ).values_list("order_id", flat=True)
    )
    return [
        Violation(
            "returned_means_refunded",
            says,
            f"Order {number}",
            f"{charges[number]} charges stand, stock is {'out' if number in out else 'back'}",
        )
        for number in done.values_list("input__order", flat=True)
        if is_ours(number) and (charges[number] != 0 or number in out)
    ]


def _money(ledgers: Ledgers, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "What stands as charged is the total of the orders whose payment may be charged."
    charged: dict[int, Decimal] = {}
    for effect in ledgers.effects["payment"]:
        if first <= effect["order"] <= last:
            sign = 1 if effect["operation"] == "charge" else -1
            before = charged.get(effect["order"], Decimal())
            charged[effect["order"]] = before + sign * Decimal(effect["amount"])
    orders = Order.objects.filter(number__range=(first, last))
    totals = dict(orders.values_list("number", "total")) if charged else {}
    return [
        Violation("money_adds_up", says, f"Order {number}", f"charged {amount}")
        for number, amount in sorted(charged.items())
        if is_ours(number) and amount and amount != totals.get(number)
    ]


def _effects_that_remain(
    known: Standing, is_ours: IsOurs, first: int, last: int
) -> list[Violation]:
    says = "An undone order has no effect left at any service."
    undone = Order.objects.filter(process__state__in=UNDONE, number__range=(first, last))
    return [
        Violation("undone_means_undone", says, f"Order {number}", f"{service}: {counts[number]}")
        for number in undone.values_list("number", flat=True)
        if is_ours(number)
        for service, counts in known.items()
        if counts[number] != 0
    ]
