"""The billing service."""

from typing import Any

from django.conf import settings

from orders.clients import billing
from workers import Agent, Call, register_agent


@register_agent
class IssueInvoice(Agent):
    """Issue the order's invoice."""

    name = "billing.issue"

    def run(self, call: Call) -> dict[str, Any]:
        answer = billing.issue(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            amount=call.payload["amount"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"invoice": answer.body.get("id")}


@register_agent
class VoidInvoice(Agent):
    """Void an invoice that was issued or might have been."""

    name = "billing.void"

    def run(self, call: Call) -> dict[str, Any]:
        answer = billing.void(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            undoes=call.payload["undoes"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"void": answer.body.get("id")}
