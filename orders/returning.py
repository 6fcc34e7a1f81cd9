"""Accepting that an order comes back."""

from orders.models import Order
from orders.workflows.returns import RETURN
from workers import durable
from workers.client import submission
from workers.models import Process
from workers.states import ProcessState


class ReturnRefused(Exception):
    """The order cannot be sent back; says why."""


def accept_return(order: Order, *, actor: str, reason: str = "") -> Process:
    """Begin the return of a processed order: once, however often it is asked.

    Raises ``ReturnRefused`` for an order that is not processed, or whose return has begun and
    not come to nothing.
    """
    with durable("returning.accept_return"):
        # Of two that ask at once the second waits here and finds the first one's process.
        order = Order.objects.select_for_update(of=("self",)).get(pk=order.pk)
        if order.process.state != ProcessState.PROCESSED:
            raise ReturnRefused(
                f"Order {order.number} is {order.process.state}. Only a processed order comes "
                "back; one that is not can be cancelled."
            )
        subject = f"Return of order {order.number}"
        begun = Process.objects.filter(workflow=RETURN.name, subject=subject)
        # A parcel that never came, or was sent back to the buyer, may come again.
        if begun.exclude(state__in=[ProcessState.COMPENSATED, ProcessState.CANCELLED]).exists():
            raise ReturnRefused(f"The return of order {order.number} has begun already.")
        charge = order.process.steps.get(name="charge_payment")
        return submission.submit(
            RETURN.name,
            subject=subject,
            # What the services are told: the stock room, and the payment service.
            input={
                "order": order.number,
                "amount": str(order.total),
                "undoes": charge.idempotency_key,
                "reason": reason,
            },
            actor=actor,
            lane=order.customer_email,
        )
