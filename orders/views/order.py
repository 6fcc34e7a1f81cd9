"""An order's own page, for whoever knows its secret link, and the live part of it."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from structlog.contextvars import bind_contextvars

from orders import return_progress
from orders.models import Order
from orders.tracking import track
from orders.views.pages import render_page

#: htmx polls no more after this status.
STOP_POLLING = 286


def _by_secret(view: Callable[[HttpRequest, Order], HttpResponse]) -> Callable[..., HttpResponse]:
    """Call a view with the order of a secret; keep its address from caches and other pages.

    The secret is looked for by an index: with 128 random bits there is nothing to be learned
    from how long that took.  No answer tells a wrong secret from an order that does not exist.
    """

    @require_safe
    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, secret: str) -> HttpResponse:
        order = get_object_or_404(Order, secret=secret)
        bind_contextvars(order=order.number)
        response = view(request, order)
        response["Referrer-Policy"] = "no-referrer"
        return response

    return wrapped


@_by_secret
def show(request: HttpRequest, order: Order) -> HttpResponse:
    context = {
        "tracked": track(order),
        "order": order,
        "lines": order.lines.all(),
        "return_said": return_progress.for_buyer(order),
    }
    return render_page(request, "orders/order.html", context)


@_by_secret
def progress(request: HttpRequest, order: Order) -> HttpResponse:
    """Answer a poll: 204 while nothing changed, 286 (htmx: stop polling) once final."""
    tracked = track(order)
    if request.GET.get("seen") == tracked.version and not tracked.is_final:
        return HttpResponse(status=204)
    # The headline is read out by screen readers, so it is sent only when it says something new.
    is_new = request.GET.get("said") != tracked.announcement
    context = {"tracked": tracked, "is_announced": is_new}
    response = render(request, "orders/_progress.html", context)
    if tracked.is_final:
        response.status_code = STOP_POLLING
    return response
