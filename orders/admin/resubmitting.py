"""Resubmit an order in error: the engine's page with the shop's own permission."""

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from orders.models import Order
from workers.desk.admin.actions import BY_NAME, page
from workers.desk.admin.actions.action import Target
from workers.desk.admin.actions.available import Offer
from workers.desk.admin.actions.places import Place
from workers.desk.admin.snapshot import ProcessSnapshot

PERMISSION = "orders.resubmit_order"
RESUBMIT = BY_NAME["resubmit"]


def may(request: HttpRequest) -> bool:
    """Say whether the user of a request may resubmit orders."""
    return request.user.has_perm(PERMISSION)


def offers(request: HttpRequest, order: Order, snapshot: ProcessSnapshot) -> list[Offer]:
    """Return a link to the page if the user may resubmit and the process allows it."""
    if not may(request) or RESUBMIT.refusal(Target.of(snapshot.process, snapshot.now)):
        return []
    url = reverse("admin:orders_order_resubmit", args=[order.number])
    return [Offer(RESUBMIT.label, url, RESUBMIT.name, RESUBMIT.is_grave)]


@require_http_methods(["GET", "HEAD", "POST"])
def resubmit_one(request: HttpRequest, number: int) -> HttpResponse:
    """Show the page; on POST resubmit, or show the refusal on the page's current state."""
    if not may(request):
        raise PermissionDenied
    order = get_object_or_404(Order, number=number)
    crumbs = (
        (_("Orders"), reverse("admin:orders_order_changelist")),
        (str(order), reverse("admin:orders_order_change", args=[order.number])),
    )
    return page.answer(
        request, RESUBMIT, order.process_id, permission=PERMISSION, place=Place(crumbs)
    )
