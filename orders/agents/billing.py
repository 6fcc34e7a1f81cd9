"""The billing service."""

from django.conf import settings

from orders.clients import billing
from workers.agent import Agent, Call
from workers.registry import register_agent


@register_agent
class IssueInvoice(Agent):
    """Issue the order's invoice."""

    name = "billing.issue"

    def run(self, call: Call) -> dict:
        answer = billing.issue(
            settings.SANDBOX_URL,
            order=call.payload["order"],
            amount=call.payload["amount"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"invoice": answer.body.get("id")}
