"""The payment service."""

from typing import Any

from django.conf import settings

from orders.clients import payment
from workers import Agent, Call, register_agent


@register_agent
class ChargePayment(Agent):
    """Charge the customer.  The service honours our key: however often asked, one charge.

    A declined card (402) is a business answer, and what was done is undone.
    """

    name = "payment.charge"

    def run(self, call: Call) -> dict[str, Any]:
        answer = payment.charge(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            amount=call.payload["amount"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"charge": answer.body.get("id"), "amount": call.payload["amount"]}


@register_agent
class RefundPayment(Agent):
    """Give the money back, of a charge that was made or might have been."""

    name = "payment.refund"

    def run(self, call: Call) -> dict[str, Any]:
        answer = payment.refund(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            amount=call.payload["amount"],
            undoes=call.payload["undoes"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"refund": answer.body.get("id")}
