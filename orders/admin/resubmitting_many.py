"""Resubmitting many orders in error: what was selected, what will be done, what landed."""

from dataclasses import dataclass, field
from decimal import Decimal

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from orders.admin.resubmitting import ReasonForm, actor, may
from orders.models import Order
from workers import dispatch
from workers.admin import standing
from workers.admin.lists import LiveMedia, back_to
from workers.exceptions import StateError
from workers.states import ProcessState, StepState
from workers.store import sql, steering

#: Orders resubmitted in one go: each is a transaction of its own.
LIMIT = 1000
#: Refusals that are told one by one.
TOLD = 10


@dataclass(slots=True)
class Selection:
    """Orders as an operator saw them: those to be resubmitted, and those left out and why."""

    orders: list[Order] = field(default_factory=list)
    #: How many are left out, by the state they are in.
    skipped: dict[str, int] = field(default_factory=dict)
    #: How many were selected in all.
    selected: int = 0
    is_capped: bool = False
    total: Decimal = Decimal()
    #: How many fail at which step.
    steps: dict[str, int] = field(default_factory=dict)

    @property
    def seen(self) -> str:
        """Return the frozen set for the form: number and sequence of each."""
        return ",".join(f"{order.number}:{order.process.sequence}" for order in self.orders)


class SelectedForm(ReasonForm):
    seen = forms.CharField(widget=forms.HiddenInput, max_length=LIMIT * 40)

    def clean_seen(self) -> dict[int, int]:
        pairs = [pair.partition(":")[::2] for pair in self.cleaned_data["seen"].split(",")]
        if len(pairs) > LIMIT or not all(
            part.isdecimal() and len(part) < 19 for pair in pairs for part in pair
        ):
            raise forms.ValidationError(lazy("This is no list of orders."))
        return {int(number): int(sequence) for number, sequence in pairs}


@admin.action(description=lazy("Resubmit selected orders in error"), permissions=["resubmit"])
def resubmit_selected(
    model_admin: admin.ModelAdmin, request: HttpRequest, queryset: QuerySet[Order]
) -> HttpResponse | None:
    """Show what a resubmission of the selected orders would do, and ask for the reason."""
    selection = select(queryset)
    if not selection.orders:
        messages.warning(request, _("None of the selected orders is in error."))
        return None
    form = SelectedForm(initial={"seen": selection.seen})
    return _page(request, form, selection)


def select(queryset: QuerySet[Order]) -> Selection:
    """Look at the selected orders; those beyond the limit are left for the next time."""
    queryset = queryset.prefetch_related(None)
    counted = queryset.order_by().values_list("process__state").annotate(n=Count("pk"))
    states = dict(counted)
    in_error = queryset.filter(process__state=ProcessState.ERROR).order_by("number")
    found = standing.prefetched(in_error.select_related("process"), "process__")[:LIMIT]
    selection = Selection(
        list(found),
        selected=sum(states.values()),
        skipped={state: n for state, n in states.items() if state != ProcessState.ERROR},
        is_capped=states.get(ProcessState.ERROR, 0) > LIMIT,
    )
    now = sql.read_clock()
    for order in selection.orders:
        selection.total += order.total
        for step in standing.of(order.process, now).progress.steps:
            if step.state == StepState.ERROR:
                selection.steps[step.name] = selection.steps.get(step.name, 0) + 1
    return selection


@require_POST
def resubmit_many(request: HttpRequest) -> HttpResponse:
    """Resubmit the orders that were shown, each only if it has not moved since."""
    if not may(request):
        raise PermissionDenied
    form = SelectedForm(request.POST)
    if not form.is_valid():
        seen = form.cleaned_data.get("seen", {})
        return _page(request, form, select(Order.objects.filter(pk__in=list(seen))))
    landed, refusals = _resubmit(
        form.cleaned_data["seen"], actor(request), form.cleaned_data["reason"]
    )
    if landed:
        dispatch.nudge_later()
    _report(request, landed, refusals)
    return back_to(request, "admin:orders_order_changelist")


def _resubmit(seen: dict[int, int], who: str, reason: str) -> tuple[int, list[str]]:
    processes = dict(Order.objects.filter(pk__in=list(seen)).values_list("number", "process_id"))
    landed, refusals = 0, []
    for number, sequence in sorted(seen.items()):
        try:
            steering.resubmit(processes.get(number, 0), actor=who, reason=reason, sequence=sequence)
            landed += 1
        except StateError as refusal:
            refusals.append(str(refusal))
    return landed, refusals


def _report(request: HttpRequest, landed: int, refusals: list[str]) -> None:
    if landed:
        text = ngettext("%(n)d order was resubmitted.", "%(n)d orders were resubmitted.", landed)
        messages.success(request, text % {"n": landed})
    if refusals:
        text = ngettext(
            "%(n)d order was not: %(why)s", "%(n)d orders were not: %(why)s", len(refusals)
        )
        why = " ".join(refusals[:TOLD]) + (" …" if len(refusals) > TOLD else "")
        messages.warning(request, text % {"n": len(refusals), "why": why})


def _page(request: HttpRequest, form: SelectedForm, selection: Selection) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": _("Resubmit orders in error"),
        "form": form,
        "selection": selection,
        "limit": LIMIT,
        "query": request.GET.urlencode(),
        "media": forms.Media(LiveMedia),
        "opts": Order._meta,
    }
    status = 400 if form.is_bound else 200
    return TemplateResponse(
        request, "admin/orders/order/resubmit_selected.html", context, status=status
    )
