"""Resubmitting one order in error: a page of its own, and the form on it."""

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.views.decorators.http import require_http_methods

from orders.models import Order
from workers import dispatch
from workers.admin import panel
from workers.admin.lists import LiveMedia
from workers.exceptions import StateError
from workers.states import ProcessState, StepState
from workers.store import steering

PERMISSION = "orders.resubmit_order"


class ReasonForm(forms.Form):
    """Why an operator acts: kept in the journal, for whoever reads it later."""

    reason = forms.CharField(
        label=lazy("Reason"),
        max_length=500,
        help_text=lazy("Kept in the order's journal with your name."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class ResubmitForm(ReasonForm):
    #: The process's as the operator saw it: a process that has moved since is left alone.
    sequence = forms.IntegerField(min_value=0, widget=forms.HiddenInput)


def may(request: HttpRequest) -> bool:
    """Say whether the user of a request may resubmit orders."""
    return request.user.has_perm(PERMISSION)


def actor(request: HttpRequest) -> str:
    """Return how the journal calls the user of a request."""
    return f"operator:{request.user.get_username()}"


@require_http_methods(["GET", "HEAD", "POST"])
def resubmit_one(request: HttpRequest, number: int) -> HttpResponse:
    """Show the page; on POST resubmit, or say why not and show the page as things are now."""
    if not may(request):
        raise PermissionDenied
    order = get_object_or_404(Order, number=number)
    if request.method != "POST":
        return _page(request, order, None)
    form = ResubmitForm(request.POST)
    if not form.is_valid():
        return _page(request, order, form, status=400)
    try:
        steps = steering.resubmit(
            order.process_id,
            actor=actor(request),
            reason=form.cleaned_data["reason"],
            sequence=form.cleaned_data["sequence"],
        )
    except StateError as refusal:
        return _page(request, order, form, status=409, refusal=str(refusal))
    dispatch.nudge_later()
    said = _("Order %(number)d was resubmitted: %(steps)s.")
    messages.success(request, said % {"number": order.number, "steps": ", ".join(steps)})
    return redirect("admin:orders_order_change", order.pk)


def _page(
    request: HttpRequest,
    order: Order,
    form: ResubmitForm | None,
    status: int = 200,
    refusal: str = "",
) -> HttpResponse:
    shown = panel.read(order.process_id)
    if form is None or refusal:
        # After a refusal the page shows the process as it is now: that is what is seen then.
        reason = form.cleaned_data["reason"] if form else ""
        seen = {"sequence": shown.process.sequence, "reason": reason}
        form = ResubmitForm(initial=seen)
    context = {
        **admin.site.each_context(request),
        "title": _("Resubmit order %(number)d") % {"number": order.number},
        "order": order,
        "panel": shown,
        "failed": [line for line in shown.steps if line.step.state == StepState.ERROR],
        "is_in_error": shown.process.state == ProcessState.ERROR,
        "form": form,
        "refusal": refusal,
        "server_now": shown.server_now,
        "media": forms.Media(LiveMedia),
        "opts": Order._meta,
    }
    return TemplateResponse(request, "admin/orders/order/resubmit.html", context, status=status)
