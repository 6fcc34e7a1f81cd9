"""What is still owed when an order has ended: a payment, a refund or a parcel.

People may leave out what moves money or goods; nothing else asks for it later.
"""

from collections.abc import Collection, Iterable

from django.utils.translation import gettext_lazy as _

from orders.models import Order
from orders.money import money_of_each
from workers import AlertKind, IncidentKind, Severity, raise_alert, register_alert_kind
from workers.models import Step
from workers.states import FINAL_PROCESS_STATES, ProcessState, StepState

#: The steps that move money or goods to or from the buyer.
MOVES = frozenset({"charge_payment", "book_shipment"})


def raise_alerts(order: Order, process_id: int) -> None:
    """Tell an operator what is owed although an order has ended, on either side."""
    if says := _owed([order])[order.pk]:
        raise_alert(
            "owed_at_end",
            params={"order": order.number, "amount": str(order.total), "says": says},
            subject=str(order.number),
            process_id=process_id,
        )


def settled(numbers: Collection[str]) -> set[str]:
    """Return the orders, of those that alerts are about, of which nothing is owed any more."""
    orders = Order.objects.select_related("process").filter(pk__in=numbers)
    says = _owed(orders)
    return {number for number in numbers if not says.get(int(number))}


def _owed(orders: Iterable[Order]) -> dict[int, list[str]]:
    """Return what is owed of ended orders, by number, as names of the alert's sentences."""
    rows = [order for order in orders if order.process.state in FINAL_PROCESS_STATES]
    money = money_of_each(rows)
    unsent = set(
        Step.objects.filter(
            process__in=[order.process_id for order in rows],
            name="book_shipment",
            state=StepState.SKIPPED,
        ).values_list("process", flat=True)
    )
    says: dict[int, list[str]] = {order.pk: [] for order in orders}
    for order in rows:
        is_processed = order.process.state == ProcessState.PROCESSED
        if money[order.pk].owed:
            says[order.pk].append("refund")
        if is_processed and not money[order.pk].paid:
            says[order.pk].append("doubt" if money[order.pk].is_doubtful else "payment")
        if is_processed and order.process_id in unsent:
            says[order.pk].append("parcel")
    return says


register_alert_kind(
    AlertKind(
        "owed_at_end",
        IncidentKind.FAILURE,
        Severity.ERROR,
        _("%(workflow)s ended, and is still owed: %(message)s"),
        _(
            "Collect, pay back or send by hand what is owed, or have the skipped step done again; "
            "then acknowledge."
        ),
        message={
            "payment": _(
                "Order %(order)s has ended, and its payment of %(amount)s was not taken: the step "
                "was skipped."
            ),
            "doubt": _(
                "Order %(order)s has ended, and nobody knows whether its payment of %(amount)s was "
                "taken: the step was skipped."
            ),
            "refund": _("Order %(order)s has ended, and %(amount)s is owed to its buyer."),
            "parcel": _(
                "Order %(order)s has ended, and nothing was sent to its buyer: the step was "
                "skipped."
            ),
        },
        ended=settled,
    )
)
