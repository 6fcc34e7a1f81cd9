"""Resubmit an order in error: the engine's page with the shop's own permission."""

from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _

from orders.models import Order
from workers.desk.admin.actions.action import Target
from workers.desk.admin.actions.available import Offer
from workers.desk.admin.actions.of_processes import Resubmit
from workers.desk.admin.actions.places import Place
from workers.desk.admin.snapshot import ProcessSnapshot

PERMISSION = "orders.resubmit_order"


class ResubmitOrder(Resubmit):
    address = "<int:number>/resubmit/"

    def may(self, request: HttpRequest, row: Target | None = None) -> bool:
        return bool(request.user.has_perm(PERMISSION))

    def find(self, request: HttpRequest, **address: Any) -> Target:
        order = get_object_or_404(Order, number=address["number"])
        return super().find(request, pk=order.process_id)

    def place(self, request: HttpRequest, target: Target) -> Place:
        order = Order.objects.get(process=target.process.pk)
        return Place(
            (
                (_("Orders"), reverse("admin:orders_order_changelist")),
                (str(order), reverse("admin:orders_order_change", args=[order.number])),
            )
        )


RESUBMIT = ResubmitOrder()


def offers(request: HttpRequest, order: Order, snapshot: ProcessSnapshot) -> list[Offer]:
    """Return a link to the page if the user may resubmit and the process allows it."""
    if not RESUBMIT.may(request) or RESUBMIT.refusal(Target.of(snapshot.process, snapshot.now)):
        return []
    url = reverse("admin:orders_order_resubmit", args=[order.number])
    return [Offer(RESUBMIT.label, url, RESUBMIT.name, RESUBMIT.is_grave)]
