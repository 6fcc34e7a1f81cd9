"""The carriers: the house carrier, and the courier who takes what it refuses."""

from django.conf import settings

from orders.clients import shipping
from workers.agent import Agent, Call
from workers.registry import register_agent


class _BookShipment(Agent):
    service: str

    def run(self, call: Call) -> dict:
        answer = shipping.book(
            settings.SANDBOX_URL,
            service=self.service,
            order=call.payload["order"],
            address=call.payload["address"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        return {"carrier": self.service, "parcel": answer.body.get("id")}


@register_agent
class BookShipment(_BookShipment):
    """Book the parcel with the house carrier."""

    name = "shipping.book"
    service = "shipping"


@register_agent
class BookCourier(_BookShipment):
    """Book the parcel with the courier."""

    name = "courier.book"
    service = "courier"
