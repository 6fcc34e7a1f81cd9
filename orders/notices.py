"""Mails to the buyer at each turn of an order, each by a process of one step.

It is submitted in the transaction of the turn, so no turn is without its mail, whatever dies.  That
an order is on its way is told by its own last step, with the same agent and the same mail.
"""

from typing import Any

from orders import owed, wording
from orders.models import Order, Return
from orders.money import Money, money_of
from workers import End
from workers.client import submission
from workers.models import Journal, Step
from workers.states import ProcessState, StepState

WORKFLOW = "notice"
#: Who cancels an order or asks for a return on its page.
BUYER = "buyer"


def tell(order: Order, turn: str, money: Money | None = None, reason: str = "") -> None:
    """Have the buyer of an order mailed about a turn, in the caller's transaction.

    An erased order has nobody to tell.
    """
    if order.process.erased_at is not None:
        return
    submission.submit(
        WORKFLOW,
        subject=f"Notice of order {order.number}: {wording.NOTICES[turn].subject}",
        input={
            "turn": turn,
            "number": order.number,
            "customer": {"name": order.customer_name, "email": order.customer_email},
            "lines": order.process.input.get("lines", []),
            "total": str(order.total),
            "reason": reason,
            "money": money.text if money else "",
            "is_open": bool(money and (money.owed or money.is_doubtful)),
            "link": order.link,
        },
        actor="shop",
    )


def of_order_end(end: End) -> None:
    """Tell the buyer of an order's end, and an operator what is owed then.

    A processed order was told of by its last step.
    """
    if end.state == ProcessState.PROCESSED and end.results.keys() >= owed.MOVES:
        return
    order = Order.objects.select_related("process").filter(process=end.id).first()
    if order is None:
        return
    owed.raise_alerts(order, end.id)
    if end.state == ProcessState.PROCESSED or _is_known(end):
        return
    reason = _reason(end.id)
    if end.state == ProcessState.CANCELLED:
        undoing = Journal.objects.filter(process=end.id, event="compensating").order_by("-pk")
        by = undoing.values_list("actor", flat=True).first()
        reason = wording.as_asked() if by == BUYER else ""
    tell(order, end.state, money_of(order), reason)


def of_return_end(end: End) -> None:
    """Tell the buyer of the end of a return."""
    row = Return.objects.select_related("order__process").filter(process=end.id).first()
    if row is None or _is_known(end):
        return
    reason = "" if end.state == ProcessState.PROCESSED else _reason(end.id)
    tell(row.order, f"return_{end.state}", money_of(row.order), reason)


def _is_known(end: End) -> bool:
    """Say whether the buyer was told before that the process stopped in error."""
    errors = Journal.objects.filter(process=end.id, step=None, after=ProcessState.ERROR)
    return end.state == ProcessState.ERROR and errors.count() > 1


def _reason(process_id: int) -> str:
    """Return why a process could not be completed, in the words of its page; empty: unknown."""
    failed: Any = (
        Step.objects.filter(process=process_id, state=StepState.ERROR, fault__isnull=False)
        .order_by("position")
        .first()
    )
    return wording.fault(failed.name, failed.fault) if failed else ""
