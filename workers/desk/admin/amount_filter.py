"""A list filter on what a row is worth: more than, less than, or from one amount to another."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from workers.desk.rules.list_query import amounts


class AmountFilter(admin.SimpleListFilter):
    """Rows whose amount is ``>100``, ``<=99.50`` or ``100..500``: the query bar's ``money``."""

    title = _("worth")
    parameter_name = "money"
    #: The column of the amount; it needs an index.
    column: str

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        # Offered only when the query bar linked here.
        chosen = self.value()
        return [(chosen, chosen)] if chosen else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        conditions = {
            f"{self.column}__{lookup}": amount for lookup, amount in amounts(value).items()
        }
        return queryset.filter(**conditions) if conditions else queryset.none()
