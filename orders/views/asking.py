"""What a buyer asks for on pages of their order: that it is cancelled, or sent back."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

import workers
from orders import returning
from orders.forms import ReturnForm
from orders.models import Order
from orders.money import money_of
from orders.notices import BUYER
from orders.returning import ReturnRefused
from orders.tracking import track
from orders.views.order import by_secret
from orders.views.pages import render_page
from workers import StateError
from workers.states import UNDONE_PROCESS_STATES, ProcessState


@require_http_methods(["GET", "HEAD", "POST"])
@by_secret
def cancel(request: HttpRequest, order: Order) -> HttpResponse:
    """Ask whether to cancel an order, and cancel it."""
    if request.method == "POST":
        try:
            workers.cancel(order.process_id, actor=BUYER, reason="cancelled by the buyer")
        except StateError:
            return _refuse_cancel(request, order)
        messages.success(
            request, _("Your order is being cancelled. We will write when it is done.")
        )
        return redirect(order)
    if not track(order).may_cancel:
        return _refuse_cancel(request, order)
    return _page(request, "orders/cancel.html", order, {})


def _refuse_cancel(request: HttpRequest, order: Order) -> HttpResponse:
    order.process.refresh_from_db()
    if order.process.outcome is not None or order.process.state in UNDONE_PROCESS_STATES:
        text = _("This order is being undone already, or was: there is nothing to cancel.")
    elif order.process.state == ProcessState.PROCESSED:
        text = _("It is too late to cancel this order: it is complete.")
    else:
        text = _(
            "It is too late to cancel this order: your parcel is booked. Once the order is "
            "complete you can send it back."
        )
    messages.error(request, text)
    return redirect(order)


@require_http_methods(["GET", "HEAD", "POST"])
@by_secret
def send_back(request: HttpRequest, order: Order) -> HttpResponse:
    """Ask why an order is sent back, and begin its return."""
    form = ReturnForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            returning.accept_return(order, actor=BUYER, reason=form.cleaned_data["reason"])
        except ReturnRefused:
            return _refuse_return(request, order)
        messages.success(request, _("You may send it back. We have mailed you how."))
        return redirect(order)
    if not returning.may_begin(order):
        return _refuse_return(request, order)
    status = 422 if form.is_bound else 200
    return _page(request, "orders/return.html", order, {"form": form}, status=status)


def _refuse_return(request: HttpRequest, order: Order) -> HttpResponse:
    if order.process.state == ProcessState.PROCESSED:
        text = _("The return of this order has begun already.")
    else:
        text = _("This order cannot be sent back: only a complete order can.")
    messages.error(request, text)
    return redirect(order)


def _page(
    request: HttpRequest, template: str, order: Order, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    context |= {"order": order, "money": money_of(order)}
    response = render_page(request, template, context, status=status)
    # Under no-referrer browsers send a form without its origin, which looks like a forgery.
    response["Referrer-Policy"] = "same-origin"
    return response
