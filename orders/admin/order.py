"""Orders joined with their processes: the operators' list, and a page of each order."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.contrib.admin.views.main import ChangeList
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.http import HttpRequest
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders import return_progress
from orders.admin import needs, resubmitting, search
from orders.models import Order, Return
from orders.models.order import PRIVATE
from orders.money import money_of, money_of_each
from workers.admin import ReadOnlyAdmin
from workers.desk.admin import (
    causes,
    columns,
    filters,
    job_filter,
    masking,
    showing,
    snapshot,
    subjects,
    wait_filters,
)
from workers.desk.admin.actions import places
from workers.desk.admin.amount_filter import AmountFilter
from workers.desk.admin.bulk.lists import BulkListAdmin
from workers.desk.admin.columns import ProcessColumns
from workers.desk.admin.csv_lists import PROCESS_HEADS, CsvListAdmin, process_cells
from workers.desk.admin.incident_filter import IncidentFilter
from workers.desk.admin.lists import LiveListAdmin, StandingChangeList
from workers.desk.admin.page import ProcessPageAdmin
from workers.desk.admin.query_bar import QueryBarAdmin
from workers.desk.admin.view_lists import ViewListAdmin
from workers.models import Process

#: Most orders that a search returns to the lists of other rows.
FOUND = 200
#: Columns of an order's money in the file of the list.
MONEY_HEADS = ("paid", "refunded", "owed", "in_doubt")


class MoneyFilter(AmountFilter):
    column = "total"


@admin.register(Order)
class OrderAdmin(
    ProcessColumns,
    ReadOnlyAdmin,
    ProcessPageAdmin,
    BulkListAdmin,
    CsvListAdmin,
    QueryBarAdmin,
    ViewListAdmin,
    LiveListAdmin,
):
    """Read-only but for the actions, each with its permission."""

    process_path = "process__"
    origin = places.SUBJECT
    own_verbs = frozenset({"resubmit"})
    live_template = "admin/orders/order/live.html"
    list_display = (
        "number",
        "customer",
        "total",
        "state",
        "current_step",
        "failures",
        "complete_by",
        "why",
        "age",
    )
    list_display_links = ("number", "customer")
    never_asked = (*PRIVATE, "body_hash")
    # Only columns with an index; by number would be the same as by age.
    sortable_by = ("total", "age")
    list_filter = (
        filters.NeedsSomeoneFilter,
        filters.StateFilter,
        filters.CurrentStepFilter,
        filters.AgentInErrorFilter,
        filters.FaultFilter,
        causes.CauseFilter,
        IncidentFilter,
        wait_filters.PausedFilter,
        wait_filters.AtAgentFilter,
        wait_filters.WithAgentFilter,
        wait_filters.SinceFilter,
        job_filter.JobFilter,
        MoneyFilter,
        "source",
        "created_at",
    )
    show_facets = ShowFacets.ALWAYS
    search_fields = ("number",)
    search_help_text = _(
        "Number, whole name or e-mail (their beginnings with the right to show personal data), "
        "beginning of a reference or submission key, "
        "a step's idempotency key, or, of the newest orders, a service's reference; and words: "
        "state:error agent:payment.* money>100 step: fault: needs: since:1h paused"
    )
    # By process, so that rows found through their processes need no sort.
    ordering = ("-process_id",)
    csv_heads = (
        "number",
        "customer",
        "email",
        "reference",
        "source",
        "total",
        *MONEY_HEADS,
        *PROCESS_HEADS,
    )
    bulk_permissions = {"resubmit": resubmitting.PERMISSION}

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path(
                "<int:number>/resubmit/",
                wrap(resubmitting.resubmit_one),
                name="orders_order_resubmit",
            ),
            path("needs/", wrap(needs.show), name="orders_order_needs"),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        queryset = super().get_queryset(request).select_related("process")
        return snapshot.with_steps(queryset, "process__")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return StandingChangeList

    def found_by(self, request: HttpRequest, term: str) -> Q:
        return search.condition(term, by_beginning=showing.may(request))

    def csv_lines(self, rows: list[Order], *, is_personal: bool) -> Iterable[Sequence[Any]]:
        cells = process_cells([row.process for row in rows], is_personal=is_personal)
        money = money_of_each(rows)
        for row, process_row in zip(rows, cells, strict=True):
            customer = customer_of(row, is_shown=is_personal)
            yield [
                *(row.number, customer["name"], customer["email"]),
                *(row.reference, row.source, row.total),
                *(money[row.pk].facts[name] for name in MONEY_HEADS),
                *process_row,
            ]

    def process_of(self, row: Order) -> Process:
        return row.process

    def process_id_at(self, pk: int) -> int | None:
        return Order.objects.filter(pk=pk).values_list("process_id", flat=True).first()

    def facts_of_row(self) -> dict[str, Exists]:
        return {"has_returns": Exists(Return.objects.filter(order=OuterRef("pk")))}

    def beside(self, process_id: int) -> list[QuerySet[Any]]:
        """Return the number of changes to the order's returns."""
        returns = Return.objects.filter(order__process=process_id).order_by()
        return [returns.values("order").annotate(n=Sum("process__sequence")).values("n")]

    def page_context(self, request: HttpRequest, row: Order) -> dict[str, Any]:
        context = super().page_context(request, row)
        panel = context["panel"]
        return {
            **context,
            "order": row,
            "money": money_of(row),
            "customer": customer_of(row, is_shown=context["is_shown"]),
            "lines": row.lines.order_by("pk"),
            "returns": return_progress.lines(row, panel.now, panel.mask.text)
            if context["row"].has_returns
            else [],
            "own_offers": resubmitting.offers(request, row, panel.standing),
        }

    def bulk_facts(self, rows: list[Order]) -> list[tuple[str, str]]:
        return [(gettext("Worth"), str(sum(row.total for row in rows)))]

    @admin.display(description=_("customer"))
    def customer(self, row: Order) -> str:
        # Lists stay masked: a name is shown for one order at a time, which is journalled.
        return masking.masked(row.customer_name)

    @admin.display(description=_("state"), ordering="process__state")
    def state(self, row: Order) -> SafeString:
        return columns.state_of(row)

    @admin.display(description=_("age"), ordering="-process_id")
    def age(self, row: Order) -> SafeString:
        """Return the order's age and source."""
        return format_html(
            '{} <span class="sas-agent">{}</span>', columns.age_of(row), row.get_source_display()
        )


subjects.register_list("admin:orders_order_changelist", "orders.view_order", _("orders"))


@subjects.register_search
def search_processes(term: str) -> Iterable[int]:
    """Return the processes of the newest orders that match ``term``, as in the list of orders."""
    orders = Order.objects.filter(search.condition(term)).order_by("-process_id")
    return orders.values_list("process_id", flat=True)[:FOUND]


def customer_of(order: Order, *, is_shown: bool) -> dict[str, str]:
    """Return an order's customer, masked unless ``is_shown``."""
    facts = {
        "name": order.customer_name,
        "email": order.customer_email,
        "address": order.customer_address,
    }
    return facts if is_shown else {name: masking.masked(text) for name, text in facts.items()}


@subjects.register_pages
def pages(process_ids: Iterable[int]) -> dict[int, str]:
    """Return the addresses of the order pages by process."""
    orders = Order.objects.filter(process__in=set(process_ids))
    return {
        process_id: reverse("admin:orders_order_change", args=[number])
        for process_id, number in orders.values_list("process_id", "number")
    }
