"""The payment service."""

from django.conf import settings

from orders.clients import payment
from workers.agent import Agent, Call
from workers.registry import register_agent


@register_agent
class ChargePayment(Agent):
    """Charge the customer.  The service honours our key: however often asked, one charge."""

    name = "payment.charge"

    def run(self, call: Call) -> dict:
        answer = payment.charge(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            amount=call.payload["amount"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"charge": answer.body.get("id"), "amount": call.payload["amount"]}
