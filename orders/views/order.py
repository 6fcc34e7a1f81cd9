"""An order's own page, for whoever knows its secret link, and the live part of it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HttpResponseStopPolling

from orders.models import Order
from orders.tracking import track
from orders.views.pages import render_page


@require_safe
@never_cache
def show(request: HttpRequest, secret: str) -> HttpResponse:
    order = get_object_or_404(Order, secret=secret)
    context = {"tracked": track(order), "order": order, "lines": order.lines.all()}
    return render_page(request, "orders/order.html", context)


@require_safe
@never_cache
def progress(request: HttpRequest, secret: str) -> HttpResponse:
    """Answer a poll: 204 while nothing changed, 286 (htmx: stop polling) once final."""
    tracked = track(get_object_or_404(Order, secret=secret))
    if request.GET.get("seen") == tracked.version and not tracked.is_final:
        return HttpResponse(status=204)
    # The headline is read out by screen readers, so it is sent only when it says something new.
    is_new = request.GET.get("said") != tracked.announcement
    context = {"tracked": tracked, "is_announced": is_new}
    response = render(request, "orders/_progress.html", context)
    if tracked.is_final:
        return HttpResponseStopPolling(response.content)
    return response
