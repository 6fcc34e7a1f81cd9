"""Pages of a list whose cost does not grow with the table."""

from functools import cached_property
from typing import Any

from django.core.paginator import Page, Paginator

#: Rows are counted so far; beyond that a list says "10,000+".
COUNTED = 10_000


class BoundedPaginator(Paginator):
    """A paginator that counts up to a bound, and fetches a page's rows by their keys.

    A page beyond the bound is answered, too: it is only not linked.
    """

    @cached_property
    def count(self) -> int:
        """Return the number of rows, ``COUNTED`` at most."""
        return min(self._counted, COUNTED)

    @cached_property
    def _counted(self) -> int:
        # A list is given where a test or a caller has one.
        if not hasattr(self.object_list, "order_by"):
            return len(self.object_list)
        keys = self.object_list.order_by().values("pk")
        return int(keys[: COUNTED + 1].count())

    @property
    def is_bounded(self) -> bool:
        """Say whether there are more rows than were counted."""
        return self._counted > COUNTED

    def get_elided_page_range(self, number: Any = 1, **kwargs: Any) -> Any:
        """Return the pages to link; from one beyond the bound, as from the last."""
        return super().get_elided_page_range(min(number, self.num_pages), **kwargs)

    def page(self, number: Any) -> Page[Any]:
        """Return a page; what is joined to its rows is read for them alone."""
        if not self.is_bounded:
            number = self.validate_number(number)
        bottom = (number - 1) * self.per_page
        rows: Any = self.object_list
        keys = list(rows.values_list("pk", flat=True)[bottom : bottom + self.per_page])
        return Page(rows.filter(pk__in=keys), number, self)
