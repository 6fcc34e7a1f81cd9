"""The payment service."""

from typing import Any

from django.conf import settings

from orders.clients import answers, payment
from workers import Call, register_agent


@register_agent
class ChargePayment(answers.ServiceAgent):
    """Charge the customer.  The service honours our key: repeated calls make one charge.

    A declined card (402) is a business answer: the order is undone.
    """

    name = "payment.charge"

    def run(self, call: Call) -> dict[str, Any]:
        order, amount = call.payload["order"], call.payload["amount"]
        answer = payment.charge(
            settings.SANDBOX_URL,
            order=order,
            amount=amount,
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"charge": answers.done(answer, order=order, amount=amount), "amount": amount}


@register_agent
class RefundPayment(answers.ServiceAgent):
    """Refund a charge that was made or might have been."""

    name = "payment.refund"

    def run(self, call: Call) -> dict[str, Any]:
        order, amount = call.payload["order"], call.payload["amount"]
        undoes = call.payload["undoes"]
        answer = payment.refund(
            settings.SANDBOX_URL,
            order=order,
            amount=amount,
            undoes=undoes,
            reference=answers.reference(call, "charge"),
            key=answers.give_back_key(undoes),
            remaining=call.deadline.remaining,
        )
        return {
            "refund": answers.undone(
                answer,
                order=order,
                undoes=undoes,
                is_certain=answers.is_certain(call),
                amount=amount,
            )
        }
