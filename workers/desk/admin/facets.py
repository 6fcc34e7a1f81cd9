"""The counts beside the filters of a list: all of them in one question to the database."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest


class Facets:
    """Counts the choices of every filter of a list when the first is asked for.

    Django asks once for each filter, and makes every filter anew each time.  A filter that is not
    used leaves out nothing, so what all of those count is the list as it is shown; one that is
    used counts the list without itself, which is a question of its own.
    """

    def __init__(self, request: HttpRequest, listed: ChangeList, rest: dict[str, Any]) -> None:
        self._request = request
        self._listed = listed
        #: Conditions of the address that are no filter's.
        self._rest = rest
        self._counts: dict[int, dict[str, int]] | None = None

    def of(self, spec: Any) -> dict[str, int]:
        """Return the counts of one filter, as Django wants them."""
        if self._is_used(spec):
            rows = self._without(spec)
            counts = spec.get_facet_counts(self._listed.pk_attname, rows)
            found: dict[str, int] = rows.order_by().aggregate(**counts)
            return found
        if self._counts is None:
            self._counts = self._of_unused()
        return self._counts[id(spec)]

    def _is_used(self, spec: Any) -> bool:
        return any(name in self._listed.params for name in spec.expected_parameters())

    def _of_unused(self) -> dict[int, dict[str, int]]:
        rows: QuerySet[Any] = self._listed.queryset
        wanted: dict[int, dict[str, str]] = {}
        asked: dict[str, Any] = {}
        specs: list[Any] = self._listed.filter_specs
        for place, spec in enumerate(specs):
            if self._is_used(spec):
                continue
            counts = spec.get_facet_counts(self._listed.pk_attname, rows)
            wanted[id(spec)] = {name: f"of_{place}_{name}" for name in counts}
            asked |= {f"of_{place}_{name}": count for name, count in counts.items()}
        told = rows.order_by().aggregate(**asked) if asked else {}
        return {
            key: {name: told[alias] for name, alias in names.items()}
            for key, names in wanted.items()
        }

    def _without(self, spec: Any) -> QuerySet[Any]:
        rows = self._listed.root_queryset
        for other in self._listed.filter_specs:
            narrowed = None if other is spec else other.queryset(self._request, rows)
            rows = rows if narrowed is None else narrowed
        rows, _ = self._listed.model_admin.get_search_results(
            self._request, rows.filter(**self._rest), self._listed.query
        )
        return rows
