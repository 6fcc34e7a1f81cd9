"""What must be true of orders and of the outside world, beside the engine's invariants.

The sandbox's ledgers are the outside witness: every effect is in them, whatever our own
rows say.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx2
from django.db.models import Sum

from orders.models import Order, Reservation
from orders.sandbox.services import SERVICES
from workers.invariants import Violation
from workers.models import Process, Step
from workers.states import FINAL_PROCESS_STATES, ProcessState

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
    is_ours: IsOurs = (lambda number: True) if numbers is None else frozenset(numbers).__contains__
    found = [*_unowned_processes(), *_stock_that_does_not_add_up(is_ours)]
    if ledgers is not None:
        found += [
            *_doubled(ledgers, is_ours),
            *_effects_that_are_missing(ledgers, is_ours),
            *_money(ledgers, is_ours),
            *_effects_that_remain(ledgers, is_ours),
            *_refunds_that_are_missing(ledgers, is_ours),
        ]
    return found


def _unowned_processes() -> list[Violation]:
    says = "An order and its process exist together or not at all."
    owned = Order.objects.values("process_id")
    stray = Process.objects.filter(workflow="fulfilment").exclude(pk__in=owned)
    return [
        Violation("order_has_process", says, process.subject, "a process without its order")
        for process in stray
    ]


def _stock_that_does_not_add_up(is_ours: IsOurs) -> list[Violation]:
    says = "What was reserved is what the orders' processed steps say, once each."
    returned = _returned()
    reserved = Reservation.objects.filter(released_at=None)
    by_order = dict(reserved.values_list("order_id").annotate(n=Sum("quantity")))
    wanted = dict(
        Order.objects.filter(
            process_id__in=Step.objects.filter(
                name="reserve_stock", state="processed", process__workflow="fulfilment"
            ).values("process_id")
        )
        .values_list("number")
        .annotate(n=Sum("lines__quantity"))
    )
    return [
        Violation(
            "stock_is_reserved_once",
            says,
            f"Order {number}",
            f"reserved {by_order.get(number, 0)}, ordered {wanted.get(number, 0)}",
        )
        for number in sorted(set(by_order) | set(wanted))
        if is_ours(number)
        and number not in returned
        and wanted.get(number) is not None
        and by_order.get(number, 0) != wanted[number]
    ]


def _doubled(ledgers: Ledgers, is_ours: IsOurs) -> list[Violation]:
    says = "No service has more than one effect per order that was not undone."
    return [
        Violation("effects_happen_once", says, f"Order {order}", f"{service}: {count} effects")
        for service, order, count in ledgers.duplicates()
        if is_ours(order)
    ]


def _effects_that_are_missing(ledgers: Ledgers, is_ours: IsOurs) -> list[Violation]:
    says = "A processed step's effect is in the ledger."
    found = []
    returned = _returned()
    for step_name, services in STEP_SERVICES.items():
        standing: Counter[int] = sum((ledgers.standing(service) for service in services), Counter())
        # While a process is being undone its effects go before its rows say so.
        done = (
            Step.objects.filter(name=step_name, state="processed", process__workflow="fulfilment")
            .exclude(process__state="compensating")
            .values("process_id")
        )
        for number in Order.objects.filter(process_id__in=done).values_list("number", flat=True):
            may_be = {0, 1} if number in returned else {1}
            if is_ours(number) and standing[number] not in may_be:
                found.append(
                    Violation(
                        "processed_means_done",
                        says,
                        f"Order {number}",
                        f"{step_name}: {standing[number]} effects",
                    )
                )
    return found


def _returned() -> frozenset[int]:
    """Return the orders whose return has begun."""
    found = Process.objects.filter(workflow="return").values_list("input__order", flat=True)
    return frozenset(found)


def _refunds_that_are_missing(ledgers: Ledgers, is_ours: IsOurs) -> list[Violation]:
    says = "What was returned is paid back and in stock again, once."
    done = Process.objects.filter(workflow="return", state=ProcessState.PROCESSED)
    standing = ledgers.standing("payment")
    out = set(Reservation.objects.filter(released_at=None).values_list("order_id", flat=True))
    return [
        Violation(
            "returned_means_refunded",
            says,
            f"Order {number}",
            f"{standing[number]} charges stand, stock is {'out' if number in out else 'back'}",
        )
        for number in done.values_list("input__order", flat=True)
        if is_ours(number) and (standing[number] != 0 or number in out)
    ]


def _money(ledgers: Ledgers, is_ours: IsOurs) -> list[Violation]:
    says = "What stands as charged is the total of the orders whose payment may be charged."
    charged: dict[int, Decimal] = {}
    for effect in ledgers.effects["payment"]:
        sign = 1 if effect["operation"] == "charge" else -1
        before = charged.get(effect["order"], Decimal())
        charged[effect["order"]] = before + sign * Decimal(effect["amount"])
    totals = dict(Order.objects.filter(pk__in=charged).values_list("number", "total"))
    return [
        Violation("money_adds_up", says, f"Order {number}", f"charged {amount}")
        for number, amount in sorted(charged.items())
        if is_ours(number) and amount and amount != totals.get(number)
    ]


def _effects_that_remain(ledgers: Ledgers, is_ours: IsOurs) -> list[Violation]:
    says = "An undone order has no effect left at any service."
    undone = Order.objects.filter(process__state__in=UNDONE)
    standing = {service: ledgers.standing(service) for service in EFFECTS}
    return [
        Violation("undone_means_undone", says, f"Order {number}", f"{service}: {counts[number]}")
        for number in undone.values_list("number", flat=True)
        if is_ours(number)
        for service, counts in standing.items()
        if counts[number] != 0
    ]
