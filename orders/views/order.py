"""An order's page at its secret link, and the live part of the page."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from orders import log_fields, return_progress
from orders.models import Order
from orders.tracking import track
from orders.views.pages import render_page

#: htmx polls no more after this status.
STOP_POLLING = 286


def by_secret(view: Callable[[HttpRequest, Order], HttpResponse]) -> Callable[..., HttpResponse]:
    """Call a view with the order of a secret; keep the address out of caches and referrers.

    The lookup by index is not constant-time, which reveals nothing of 128 random bits.  A wrong
    secret gets the same answer as an order that does not exist.
    """

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, secret: str) -> HttpResponse:
        order = get_object_or_404(Order, secret=secret)
        log_fields.bind(order)
        response = view(request, order)
        response.headers.setdefault("Referrer-Policy", "no-referrer")
        return response

    return wrapped


@require_safe
@by_secret
def show(request: HttpRequest, order: Order) -> HttpResponse:
    context = {
        "tracked": track(order),
        "order": order,
        "lines": order.lines.all(),
        "return_text": return_progress.for_buyer(order),
    }
    return render_page(request, "orders/order.html", context)


@require_safe
@by_secret
def progress(request: HttpRequest, order: Order) -> HttpResponse:
    """Answer a poll: 204 while nothing changed, 286 (htmx: stop polling) once final."""
    tracked = track(order)
    if request.GET.get("seen") == tracked.version and not tracked.is_final:
        return HttpResponse(status=204)
    # Screen readers read the headline out, so it is sent only if it has changed.
    is_new = request.GET.get("said") != tracked.announcement
    context = {"tracked": tracked, "is_announced": is_new}
    response = render(request, "orders/_progress.html", context)
    if tracked.is_final:
        response.status_code = STOP_POLLING
    return response
