"""Orders joined with their processes: the operators' list, and a page of each order."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from orders import return_progress
from orders.admin import needs, resubmitting, search
from orders.models import Order, Return
from orders.models.order import PRIVATE
from orders.money import money_of, money_of_each
from workers.desk.admin import badges, masking, process_list, showing, subjects
from workers.desk.admin.actions import places
from workers.desk.admin.csv_files import PROCESS_HEADS, process_cells
from workers.desk.admin.filters import amount_filter
from workers.desk.admin.lists import View, column
from workers.desk.admin.process_list import PROCESS_FILTERS, ProcessListAdmin
from workers.models import Process

#: Columns of an order's money in the file of the list.
MONEY_HEADS = ("paid", "refunded", "owed", "in_doubt")


@admin.register(Order)
class OrderAdmin(ProcessListAdmin):
    """Read-only but for the actions, each with its permission."""

    process_path = "process__"
    origin = places.SUBJECT
    own_verbs = frozenset({"resubmit"})
    live_template = "admin/orders/order/live.html"
    list_display = (
        *("number", "customer", "total", "state"),
        *("current_step", "failures", "complete_by", "why", "age"),
    )
    list_display_links = ("number", "customer")
    never_asked = (*PRIVATE, "body_hash")
    # Only columns with an index; by number would be the same as by age.
    sortable_by = ("total", "age")
    list_filter = (
        *PROCESS_FILTERS,
        amount_filter("total"),
        "source",
        "created_at",
    )
    search_fields = ("number",)
    search_help_text = _(
        "Number, whole name or e-mail (their beginnings with the right to show personal data), "
        "beginning of a reference, submission key, "
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
    acts = (resubmitting.RESUBMIT,)
    bulk_permissions = {"resubmit": resubmitting.PERMISSION}

    def views(self) -> list[View]:
        return [
            ("needs", "needs/", needs.show),
            *super().views(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Order]:
        return super().get_queryset(request).select_related("process")

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

    # Lists stay masked: a name is shown for one order at a time, which is journalled.
    customer = column(_("customer"), lambda row: masking.masked(row.customer_name))
    state = column(_("state"), process_list.state_of, "process__state")
    age = column(
        _("age"),
        lambda row: badges.beside(process_list.age_of(row), row.get_source_display()),
        "-process_id",
    )


subjects.register_list("admin:orders_order_changelist", "orders.view_order", _("orders"))


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
