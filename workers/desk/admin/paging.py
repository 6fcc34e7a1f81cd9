"""Pages of a list whose cost does not grow with the table."""

from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet, Subquery

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
