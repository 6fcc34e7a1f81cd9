"""Pages and counts of a list whose cost does not grow with the table."""

from functools import cached_property
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet, Subquery
from django.http import HttpRequest

#: Rows are counted up to this; beyond it a list says "1000+".
COUNTED = 1000


def counted(number: int) -> str:
    """Return a number that was counted up to the bound, as text."""
    return f"{COUNTED}+" if number > COUNTED else str(number)


class BoundedPaginator(Paginator):
    """A paginator that counts up to a bound, and fetches a page's rows by their keys.

    Pages beyond the bound can be opened, too, but are not linked.
    """

    def __init__(self, object_list: Any, per_page: int, *, rows: QuerySet[Any]) -> None:
        super().__init__(object_list, per_page)
        #: What the rows of a page are read from: the list without its filters.
        self._rows = rows

    @cached_property
    def count(self) -> int:
        """Return the number of rows, ``COUNTED`` at most."""
        return min(len(self._first_keys), COUNTED)

    @property
    def newest(self) -> Any:
        """Return the largest key of the table, filtered or not; None if nothing is listed."""
        return self._first_rows[0][1] if self._first_rows else None

    @property
    def _first_keys(self) -> list[Any]:
        """Return the keys of the first rows: the query that counts them also finds their pages."""
        return [key for key, _newest in self._first_rows]

    @cached_property
    def _first_rows(self) -> list[tuple[Any, Any]]:
        rows: Any = self.object_list
        newest = self._rows.model._default_manager.order_by("-pk").values("pk")[:1]
        return list(rows.values_list("pk", Subquery(newest))[: COUNTED + 1])

    def _keys(self, bottom: int, top: int) -> list[Any]:
        rows: Any = self.object_list
        return list(rows.values_list("pk", flat=True)[bottom:top])

    @property
    def is_bounded(self) -> bool:
        """Return whether there are more rows than were counted."""
        return len(self._first_keys) > COUNTED

    def get_elided_page_range(self, number: Any = 1, **kwargs: Any) -> Any:
        """Return the pages to link; a page beyond the bound counts as the last."""
        return super().get_elided_page_range(min(number, self.num_pages), **kwargs)

    def page(self, number: Any) -> Page[Any]:
        """Return a page; joins are read for its rows only, and filters are not applied again."""
        if not self.is_bounded:
            number = self.validate_number(number)
        bottom, top = (number - 1) * self.per_page, number * self.per_page
        is_counted = not self.is_bounded or top <= COUNTED
        keys = self._first_keys[bottom:top] if is_counted else self._keys(bottom, top)
        rows = self._rows.in_bulk(keys)
        return Page([rows[key] for key in keys if key in rows], number, self)


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
