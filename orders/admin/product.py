"""The catalogue.  Stock is changed by a difference, never set: orders take from it meanwhile."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from orders.models import OrderLine, Product, Reservation
from workers import durable, record_act
from workers.desk.admin.actions.page import actor
from workers.desk.admin.lists import AskableListAdmin

#: Rows that refer to a product are counted up to this bound.
COUNTED = 1000


class ProductForm(forms.ModelForm):
    restock = forms.IntegerField(
        label=lazy("Add to stock"),
        required=False,
        min_value=-1_000_000_000,
        max_value=1_000_000_000,
        help_text=lazy("Added to whatever the stock is when you save. Negative takes away."),
    )

    class Meta:
        model = Product
        fields = ("sku", "name", "description", "price", "picture", "is_listed")

    def clean_restock(self) -> int:
        change: int = self.cleaned_data.get("restock") or 0
        if self.instance.stock + change < 0:
            raise forms.ValidationError(
                lazy("There are only %(stock)d to take away."),
                params={"stock": self.instance.stock},
            )
        return change


@admin.register(Product)
class ProductAdmin(AskableListAdmin):
    """Products and their stock."""

    form = ProductForm
    fields = (
        "sku", "name", "description", "price", "stock", "restock", "picture", "is_listed"
    )  # fmt: skip
    readonly_fields = ("stock",)
    list_display = ("sku", "name", "price", "stock", "is_listed")
    list_display_links = ("sku", "name")
    list_filter = ("is_listed",)
    search_fields = ("sku", "name")
    ordering = ("sku",)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """List counts instead of rows: a product may be in tens of thousands of orders."""
        references = [text for product in objs if (text := _references(product))]
        if references:
            return [str(product) for product in objs], {}, set(), references
        result: tuple[list[str], dict[str, int], set[str], list[str]] = super().get_deleted_objects(
            objs, request
        )
        return result

    @durable("product.save")
    def save_model(
        self, request: HttpRequest, obj: Product, form: forms.ModelForm, change: bool
    ) -> None:
        """Save only the edited fields; change the stock by a difference."""
        restock: int = form.cleaned_data["restock"]
        fields = [name for name in form.changed_data if name in ProductForm.Meta.fields]
        facts = {"sku": obj.sku, "restock": restock or None, "fields": fields}
        record_act("product_set" if change else "product_added", facts, actor=actor(request))
        if not change:
            obj.stock = restock
            obj.save()
            return
        if fields:
            obj.save(update_fields=fields)
        if restock and not _add(obj, restock):
            messages.error(
                request, _("The stock was left as it is: orders have taken what you would take.")
            )

    @durable("product.delete")
    def delete_model(self, request: HttpRequest, obj: Product) -> None:
        record_act("product_deleted", {"sku": obj.sku}, actor=actor(request))
        super().delete_model(request, obj)

    @durable("product.act_on_selected")
    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Product], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Act in one transaction: Django logs a deletion before it deletes."""
        response: HttpResponse | None = super().response_action(request, queryset, *args, **kwargs)
        return response

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Product]) -> None:
        for sku in queryset.values_list("sku", flat=True):
            record_act("product_deleted", {"sku": sku}, actor=actor(request))
        super().delete_queryset(request, queryset)


def _references(product: Product) -> str:
    """Return what refers to a product, counted up to ``COUNTED``; empty: nothing does."""
    for model in (OrderLine, Reservation):
        count = model.objects.filter(product=product)[: COUNTED + 1].count()
        if count:
            number = f"{COUNTED}+" if count > COUNTED else str(count)
            text = _("%(product)s: %(number)s %(rows)s")
            rows = model._meta.verbose_name_plural
            return text % {"product": product, "number": number, "rows": rows}
    return ""


def _add(product: Product, number: int) -> bool:
    row: Any = Product.objects.filter(pk=product.pk, stock__gte=-number)
    return bool(row.update(stock=F("stock") + number))
