"""Filters of lists as values: their choices, and the rows that each choice keeps."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from django.contrib import admin
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from workers.desk.admin.lists import is_poll
from workers.desk.admin.wording import Text


class Choice(NamedTuple):
    """One choice of a filter: its value in the URL, its label, and the condition on the rows."""

    name: str
    label: Text
    condition: Q


class ListFilter(admin.SimpleListFilter):
    """A filter of a list, as ``list_filter`` makes it.

    If each row of the list has a process, its admin has in ``process_path`` the path from a row
    to it: ``process__``, or nothing if the rows are processes.
    """

    offered: ClassVar[Callable[[Any], Iterable[tuple[str, Any]]]]
    keep: ClassVar[Callable[[Any, QuerySet[Any], str], QuerySet[Any]]]
    #: Whether a value that is not offered finds nothing; else ``keep`` decides.
    is_strict = True
    #: Whether it queries the database before it narrows anything: views with it are not counted.
    asks_first = False

    def __init__(
        self,
        request: HttpRequest,
        params: dict[str, list[str]],
        model: type[Model],
        model_admin: Any,
    ) -> None:
        self.request = request
        self.path: str = getattr(model_admin, "process_path", "")
        super().__init__(request, params, model, model_admin)

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.offered())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None or not (value or self.is_strict):
            return queryset
        if self.is_strict and value not in dict(self.lookup_choices):
            return queryset.none()
        return self.keep(queryset, value)


Offered = Sequence[Choice] | Sequence[tuple[str, Any]] | Callable[[Any], Iterable[tuple[str, Any]]]
Keep = Callable[[Any, QuerySet[Any], str], QuerySet[Any]]


def list_filter(
    parameter: str,
    title: Text,
    offered: Offered,
    keep: Keep | None = None,
    *,
    is_strict: bool = True,
    asks_first: bool = False,
) -> type[ListFilter]:
    """Return a filter by a parameter of the URL.

    ``offered`` are pairs of value and label, or takes the filter and returns them; ``keep`` takes
    the filter, the rows and the value.  Without ``keep`` the choices are conditions, and a value
    that is none of them keeps all rows.
    """
    if keep is None:
        assert not callable(offered)
        keep, is_strict = _by_condition(offered), False
    options = {
        "parameter_name": parameter,
        "title": title,
        "offered": offered
        if callable(offered)
        else lambda _filter: [choice[:2] for choice in offered],
        "keep": keep,
        "is_strict": is_strict,
        "asks_first": asks_first,
    }
    return type("ListFilter", (ListFilter,), options)


def _by_condition(choices: Iterable[Any]) -> Keep:
    conditions = {choice.name: choice.condition for choice in choices}
    return lambda _filter, rows, value: rows.filter(conditions.get(value, Q()))


def by_column(column: str) -> Keep:
    """Keep the rows that have the value in a column of their process, or of their own."""
    return lambda asked, rows, value: rows.filter(**{f"{asked.path}{column}": value})


def chosen(label: Callable[[str], Any] = str) -> Callable[[Any], Iterable[tuple[str, Any]]]:
    """Offer only the chosen value: for filters that links lead to."""
    return lambda asked: [(value, label(value))] if (value := asked.value()) else []


def names(
    read: Callable[[HttpRequest], Iterable[str]], label: Callable[[str], str] = str
) -> Callable[[Any], list[tuple[str, str]]]:
    """Offer names as choices, including the chosen one even if no row has it now.

    Otherwise the filter would vanish, and the list would show everything, as soon as its last
    row moves on.
    """

    def offered(asked: ListFilter) -> list[tuple[str, str]]:
        # Facets make every filter anew for every filter: read the names once.
        cache: dict[str, set[str]] = asked.request.__dict__.setdefault("sas_filter_names", {})
        key = str(asked.parameter_name)
        if key not in cache:
            # A poll shows no filters.
            cache[key] = set() if is_poll(asked.request) else set(read(asked.request))
        value = asked.value()
        return [(name, label(name)) for name in sorted(cache[key] | ({value} if value else set()))]

    return offered


def row_id(text: str) -> int | None:
    """Return the id of a row from a URL; None if it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
