"""Accepts returns of orders."""

from collections.abc import Collection
from decimal import Decimal

from orders import notices
from orders.models import Order, Return
from orders.money import money_of
from orders.workflows.returns import RETURN
from workers import durable
from workers.client import submission
from workers.models import Process
from workers.states import ProcessState, StepState

#: Final states of a return that refunds nothing.
CAME_TO_NOTHING = frozenset({ProcessState.COMPENSATED, ProcessState.CANCELLED})


class ReturnRefused(Exception):
    """The order cannot be sent back; says why."""


def accept_return(order: Order, *, actor: str, reason: str = "") -> Process:
    """Begin the return of a processed order, at most one at a time.

    Raises ``ReturnRefused`` for an order that is not processed, or that has a return which is
    open or was refunded.
    """
    with durable("returning.accept_return"):
        # A concurrent call waits here and then finds this one's process.
        order = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        if order.process.state != ProcessState.PROCESSED:
            raise ReturnRefused(
                f"Order {order.number} is {order.process.state}. Only a processed order comes "
                "back; one that is not can be cancelled."
            )
        if not may_begin(order):
            raise ReturnRefused(f"The return of order {order.number} has begun already.")
        charge = order.process.steps.get(name="charge_payment")
        process = submission.submit(
            RETURN.name,
            subject=f"Return of order {order.number}",
            # The input for the stock and payment services.
            input={
                "order": order.number,
                "amount": str(order.total),
                "undoes": charge.idempotency_key,
                "reference": (charge.result or {}).get("charge"),
                # By the service or by hand: a refund that finds nothing to undo is an error then.
                "was_done": charge.state == StepState.PROCESSED,
                "reason": reason,
            },
            actor=actor,
            attributes={"order": order.number},
            lane=order.process.lane,
        )
        Return.objects.create(order=order, process=process)
        notices.tell(order, "return_begun", money_of(order))
        return process


def may_begin(order: Order) -> bool:
    """Say whether an order can be sent back now."""
    if order.process.state != ProcessState.PROCESSED:
        return False
    # A parcel that never came, or was sent back to the buyer, may come again.
    return not order.returns.exclude(process__state__in=CAME_TO_NOTHING).exists()


def refunds(process_ids: Collection[int]) -> dict[int, Decimal]:
    """Return the refunds of the returns among processes."""
    rows = Process.objects.filter(pk__in=set(process_ids), workflow=RETURN.name)
    return {pk: Decimal(amount) for pk, amount in rows.values_list("pk", "input__amount")}
