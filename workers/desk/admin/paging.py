"""Pages of a list whose cost does not grow with the table."""

from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet, Subquery

#: Rows are counted so far; beyond that a list says "1,000+".
COUNTED = 1000


def counted(number: int) -> str:
    """Return a number that was counted up to the bound, as people read it."""
    return f"{COUNTED}+" if number > COUNTED else str(number)


class BoundedPaginator(Paginator):
    """A paginator that counts up to a bound, and fetches a page's rows by their keys.

    A page beyond the bound is answered, too: it is only not linked.
    """

    def __init__(self, object_list: Any, per_page: int, *, rows: QuerySet[Any]) -> None:
        super().__init__(object_list, per_page)
        #: What the rows of a page are read from: the list without its filters.
        self._rows = rows

    @cached_property
    def count(self) -> int:
        """Return the number of rows, ``COUNTED`` at most."""
        return min(len(self._first), COUNTED)

    @property
    def newest(self) -> Any:
        """Return the largest key of the table, filtered or not; None where nothing is listed."""
        return self._found[0][1] if self._found else None

    @property
    def _first(self) -> list[Any]:
        """Return the keys of the first rows: what counts them also finds the pages among them."""
        return [key for key, _newest in self._found]

    @cached_property
    def _found(self) -> list[tuple[Any, Any]]:
        rows: Any = self.object_list
        newest = self._rows.model._default_manager.order_by("-pk").values("pk")[:1]
        return list(rows.values_list("pk", Subquery(newest))[: COUNTED + 1])

    def _keys(self, bottom: int, top: int) -> list[Any]:
        rows: Any = self.object_list
        return list(rows.values_list("pk", flat=True)[bottom:top])

    @property
    def is_bounded(self) -> bool:
        """Say whether there are more rows than were counted."""
        return len(self._first) > COUNTED

    def get_elided_page_range(self, number: Any = 1, **kwargs: Any) -> Any:
        """Return the pages to link; from one beyond the bound, as from the last."""
        return super().get_elided_page_range(min(number, self.num_pages), **kwargs)

    def page(self, number: Any) -> Page[Any]:
        """Return a page; what is joined to its rows is read for them alone, and no filter again."""
        if not self.is_bounded:
            number = self.validate_number(number)
        bottom, top = (number - 1) * self.per_page, number * self.per_page
        is_known = not self.is_bounded or top <= COUNTED
        keys = self._first[bottom:top] if is_known else self._keys(bottom, top)
        found = self._rows.in_bulk(keys)
        return Page([found[key] for key in keys if key in found], number, self)
