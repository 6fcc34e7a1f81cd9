"""The shop's invariants about orders and the outside world, beside the engine's own.

The sandbox's ledgers are the outside witness: they record every effect, whatever our rows say.
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
from workers.ops.invariant_check import (
    STATEMENT_SECONDS,
    Look,
    Progress,
    Result,
    check_one,
    slices,
)
from workers.ops.invariants import Violation
from workers.states import FINAL_PROCESS_STATES, LIVE_STEP_STATES, ProcessState

#: The operation that has an effect -> the one that undoes it, by service.
EFFECTS = {
    "payment": ("charge", "refund"),
    "shipping": ("book", "cancel"),
    "courier": ("book", "cancel"),
    "billing": ("issue", "void"),
}
#: The workflow's step -> the services, one of which has its effect.
STEP_SERVICES = {
    "charge_payment": ("payment",),
    "book_shipment": ("shipping", "courier"),
    "issue_invoice": ("billing",),
}
#: Final states without effects.
UNDONE = FINAL_PROCESS_STATES - {ProcessState.PROCESSED}

IsOurs = Callable[[int], bool]
#: Numbers of effects that were not undone, by service and order.
Standing = Mapping[str, Counter[int]]

#: Invariants of our own rows, and those that need the ledgers as well.
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
    """The remote services' records: effects, and how often each fault struck, by service."""

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
        """Count the effects at a service that were not undone, by order."""
        forward, undo = EFFECTS[service]
        counts: Counter[int] = Counter()
        for effect in self.effects[service]:
            if effect["operation"] == forward:
                counts[effect["order"]] += 1
            elif effect["operation"] == undo:
                counts[effect["order"]] -= 1
        return counts

    def duplicates(self) -> list[tuple[str, int, int]]:
        """Return (service, order, effects) for each order with more than one effect."""
        return [
            (service, order, count)
            for service in EFFECTS
            for order, count in sorted(self.standing(service).items())
            if count > 1
        ]


def violations(ledgers: Ledgers | None, numbers: Collection[int] | None = None) -> list[Violation]:
    """Return every row that breaks an invariant; without ledgers, only those of our own rows.

    ``numbers`` restricts the check to these orders, for a database that is older than the ledgers
    and has orders that they do not know.
    """
    return [violation for result in check(ledgers, numbers) for violation in result.violations]


def check(
    ledgers: Ledgers | None,
    numbers: Collection[int] | None = None,
    progress: Progress = lambda name, count, total: None,
    *,
    seconds: float = STATEMENT_SECONDS,
) -> Iterator[Result]:
    """Check the shop's invariants one by one; without ledgers, those of our own rows."""
    is_ours: IsOurs = (lambda number: True) if numbers is None else frozenset(numbers).__contains__
    processes = slices("workers_process", "id")
    yield check_one("order_has_process", _unowned_processes, processes, progress, seconds)
    looks: dict[str, Look] = {"stock_is_reserved_once": partial(_wrong_reservations, is_ours)}
    if ledgers is not None:
        standing = {name: ledgers.standing(name) for name in EFFECTS}
        looks |= {
            "effects_happen_once": partial(_duplicate_effects, ledgers, is_ours),
            "processed_means_done": partial(_missing_effects, standing, is_ours),
            "money_adds_up": partial(_wrong_charges, ledgers, is_ours),
            "undone_means_undone": partial(_remaining_effects, standing, is_ours),
            "returned_means_refunded": partial(_missing_refunds, standing, is_ours),
        }
    orders = slices("orders_order", "number")
    for name, look in looks.items():
        yield check_one(name, look, orders, progress, seconds)


def _unowned_processes(first: int, last: int) -> list[Violation]:
    says = "An order and its process exist together or not at all."
    owned = Order.objects.filter(process=OuterRef("pk"))
    processes = Process.objects.filter(workflow="fulfilment", pk__range=(first, last))
    return [
        Violation("order_has_process", says, process.subject, "a process without its order")
        for process in processes.filter(~Exists(owned)).defer("input")
    ]


def _wrong_reservations(is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "What was reserved is what the orders' processed steps say, once each."
    returned = _returned_orders(first, last)
    reserved = Reservation.objects.filter(released_at=None, order__number__range=(first, last))
    by_order = dict(reserved.values_list("order_id").annotate(n=Sum("quantity")))
    # Steps done by hand may have reserved anything.
    done_steps = Step.objects.filter(
        process=OuterRef("process"), name="reserve_stock", state="processed", is_by_hand=False
    )
    orders = Order.objects.filter(Exists(done_steps), number__range=(first, last))
    ordered = dict(orders.values_list("number").annotate(n=Sum("lines__quantity")))
    return [
        Violation(
            "stock_is_reserved_once",
            says,
            f"Order {number}",
            f"reserved {by_order.get(number, 0)}, ordered {ordered[number]}",
        )
        for number in sorted(ordered)
        if is_ours(number)
        and number not in returned
        and ordered[number] is not None
        and by_order.get(number, 0) != ordered[number]
    ]


def _duplicate_effects(ledgers: Ledgers, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "No service has more than one effect per order that was not undone."
    return [
        Violation("effects_happen_once", says, f"Order {order}", f"{service}: {count} effects")
        for service, order, count in ledgers.duplicates()
        if is_ours(order) and first <= order <= last
    ]


def _missing_effects(standing: Standing, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "A processed step's effect is in the ledger, unless a person did it."
    broken = []
    returned = _returned_orders(first, last)
    for step_name, services in STEP_SERVICES.items():
        # While a process is being undone, its effects disappear before its rows say so.
        done_steps = Step.objects.filter(
            ~Exists(Step.objects.filter(undoes=OuterRef("pk"), state__in=LIVE_STEP_STATES)),
            process=OuterRef("process"),
            name=step_name,
            state="processed",
        ).exclude(process__state="compensating")
        orders = Order.objects.filter(Exists(done_steps), number__range=(first, last)).annotate(
            is_by_hand=Exists(done_steps.filter(is_by_hand=True))
        )
        for number, is_by_hand in orders.values_list("number", "is_by_hand"):
            # Done by hand only, or after a call that the service carried out after all.
            may_be = {0, 1} if number in returned or is_by_hand else {1}
            count = sum(standing[service][number] for service in services)
            if is_ours(number) and count not in may_be:
                broken.append(
                    Violation(
                        "processed_means_done",
                        says,
                        f"Order {number}",
                        f"{step_name}: {count} effects",
                    )
                )
    return broken


def _returned_orders(first: int, last: int) -> frozenset[int]:
    """Return the numbers in a range of orders whose return has begun."""
    returns = Process.objects.filter(
        workflow="return", input__order__gte=first, input__order__lte=last
    )
    return frozenset(returns.values_list("input__order", flat=True))


def _missing_refunds(standing: Standing, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
    says = "What was returned is paid back and in stock again, once."
    returns = Process.objects.filter(
        workflow="return",
        state=ProcessState.PROCESSED,
        input__order__gte=first,
        input__order__lte=last,
    )
    charges = standing["payment"]
    reserved = frozenset(
        Reservation.objects.filter(
            released_at=None, order__number__range=(first, last)
        ).values_list("order_id", flat=True)
    )
    return [
        Violation(
            "returned_means_refunded",
            says,
            f"Order {number}",
            f"{charges[number]} charges stand, stock is {'out' if number in reserved else 'back'}",
        )
        for number in returns.values_list("input__order", flat=True)
        if is_ours(number) and (charges[number] != 0 or number in reserved)
    ]


def _wrong_charges(ledgers: Ledgers, is_ours: IsOurs, first: int, last: int) -> list[Violation]:
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


def _remaining_effects(
    standing: Standing, is_ours: IsOurs, first: int, last: int
) -> list[Violation]:
    says = "An undone order has no effect left at any service."
    undone = Order.objects.filter(process__state__in=UNDONE, number__range=(first, last))
    return [
        Violation("undone_means_undone", says, f"Order {number}", f"{service}: {counts[number]}")
        for number in undone.values_list("number", flat=True)
        if is_ours(number)
        for service, counts in standing.items()
        if counts[number] != 0
    ]
