"""The billing service."""

from typing import Any

from django.conf import settings

from orders.clients import answers, billing
from workers import Call, register_agent


@register_agent
class IssueInvoice(answers.ServiceAgent):
    """Issue the order's invoice."""

    name = "billing.issue"

    def run(self, call: Call) -> dict[str, Any]:
        order, amount = call.payload["order"], call.payload["amount"]
        answer = billing.issue(
            settings.SANDBOX_URL,
            order=order,
            amount=amount,
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"invoice": answers.done(answer, order=order, amount=amount)}


@register_agent
class VoidInvoice(answers.ServiceAgent):
    """Void an invoice that was issued or might have been."""

    name = "billing.void"

    def run(self, call: Call) -> dict[str, Any]:
        order, undoes = call.payload["order"], call.payload["undoes"]
        answer = billing.void(
            settings.SANDBOX_URL,
            order=order,
            undoes=undoes,
            reference=answers.reference(call, "invoice"),
            key=answers.give_back_key(undoes),
            remaining=call.deadline.remaining,
        )
        return {
            "void": answers.undone(
                answer, order=order, undoes=undoes, is_certain=answers.is_certain(call)
            )
        }
