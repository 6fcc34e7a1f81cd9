"""The carriers: the house carrier, and the courier as its fallback."""

from typing import Any

from django.conf import settings

from orders.clients import answers, shipping
from orders.clients.shipping import Carrier
from workers import Call, register_agent


class _BookShipment(answers.ServiceAgent):
    carrier: Carrier

    def run(self, call: Call) -> dict[str, Any]:
        answer = shipping.book(
            settings.SANDBOX_URL,
            carrier=self.carrier,
            order=call.payload["order"],
            address=call.payload["address"],
            key=call.key,
            remaining=call.deadline.remaining,
        )
        parcel = answers.done(answer, order=call.payload["order"])
        return {"carrier": self.carrier, "parcel": parcel}


class _CancelShipment(answers.ServiceAgent):
    carrier: Carrier

    def run(self, call: Call) -> dict[str, Any]:
        order, undoes = call.payload["order"], call.payload["undoes"]
        answer = shipping.cancel(
            settings.SANDBOX_URL,
            carrier=self.carrier,
            order=order,
            undoes=undoes,
            reference=answers.reference(call, "parcel"),
            key=answers.give_back_key(undoes),
            remaining=call.deadline.remaining,
        )
        cancelled = answers.undone(
            answer, order=order, undoes=undoes, is_certain=answers.is_certain(call)
        )
        # A result of empty values says that nothing was found to cancel.
        return {"cancelled": cancelled} | ({"carrier": self.carrier} if cancelled else {})


@register_agent
class BookShipment(_BookShipment):
    """Book the parcel with the house carrier."""

    name = "shipping.book"
    carrier: Carrier = "shipping"


@register_agent
class CancelShipment(_CancelShipment):
    """Cancel a parcel with the house carrier."""

    name = "shipping.cancel"
    carrier: Carrier = "shipping"


@register_agent
class BookCourier(_BookShipment):
    """Book the parcel with the courier."""

    name = "courier.book"
    carrier: Carrier = "courier"


@register_agent
class CancelCourier(_CancelShipment):
    """Cancel a parcel with the courier."""

    name = "courier.cancel"
    carrier: Carrier = "courier"
