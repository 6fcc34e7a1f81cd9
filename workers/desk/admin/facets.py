"""The counts beside the filters of a list: all of them in one query."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest


class Facets:
    """Counts the choices of every filter of a list when the first count is needed.

    Django queries once for each filter, and makes every filter anew each time.  An inactive filter
    excludes nothing, so all inactive ones count the list as it is shown; an active one counts the
    list without itself, which is a query of its own.
    """

    def __init__(
        self, request: HttpRequest, changelist: ChangeList, lookup_params: dict[str, Any]
    ) -> None:
        self._request = request
        self._changelist = changelist
        #: Conditions of the URL that belong to no filter.
        self._lookup_params = lookup_params
        self._counts: dict[int, dict[str, int]] | None = None

    def of(self, spec: Any) -> dict[str, int]:
        """Return the counts of one filter, as Django wants them."""
        if self._is_active(spec):
            rows = self._without(spec)
            counts = spec.get_facet_counts(self._changelist.pk_attname, rows)
            result: dict[str, int] = rows.order_by().aggregate(**counts)
            return result
        if self._counts is None:
            self._counts = self._count_inactive()
        return self._counts[id(spec)]

    def _is_active(self, spec: Any) -> bool:
        return any(name in self._changelist.params for name in spec.expected_parameters())

    def _count_inactive(self) -> dict[int, dict[str, int]]:
        rows: QuerySet[Any] = self._changelist.queryset
        aliases: dict[int, dict[str, str]] = {}
        aggregates: dict[str, Any] = {}
        specs: list[Any] = self._changelist.filter_specs
        for index, spec in enumerate(specs):
            if self._is_active(spec):
                continue
            counts = spec.get_facet_counts(self._changelist.pk_attname, rows)
            aliases[id(spec)] = {name: f"of_{index}_{name}" for name in counts}
            aggregates |= {f"of_{index}_{name}": count for name, count in counts.items()}
        totals = rows.order_by().aggregate(**aggregates) if aggregates else {}
        return {
            key: {name: totals[alias] for name, alias in names.items()}
            for key, names in aliases.items()
        }

    def _without(self, spec: Any) -> QuerySet[Any]:
        rows = self._changelist.root_queryset
        for other in self._changelist.filter_specs:
            filtered = None if other is spec else other.queryset(self._request, rows)
            rows = rows if filtered is None else filtered
        rows, _ = self._changelist.model_admin.get_search_results(
            self._request, rows.filter(**self._lookup_params), self._changelist.query
        )
        return rows
