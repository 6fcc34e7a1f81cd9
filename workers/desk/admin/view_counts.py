"""Whether saved views can still be shown, and how many rows each finds."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext as _

from workers.desk.admin.lists import asks_what_can_be_asked
from workers.desk.admin.paging import COUNTED, counted
from workers.desk.admin.view_lists import ViewListAdmin, lists, no_such, unknown_filters
from workers.desk.models import SavedView
from workers.desk.rules import saved_views
from workers.desk.rules.saved_views import ViewError
from workers.store import bounded_counts


@dataclass(frozen=True, slots=True)
class Look:
    """What is known of a view."""

    #: Why it cannot be shown; empty: it can.
    problem: str = ""
    #: How many rows it finds, as people read it; empty: they are not counted.
    count: str = ""


class _UnreadList(ChangeList):
    """A list with its filters, of which no row is read."""

    def get_results(self, request: HttpRequest) -> None:
        self.result_count = 0


def look(request: HttpRequest, views: Iterable[SavedView]) -> dict[int, Look]:
    """Return what is known of views by their ids; all rows are counted in one question."""
    known = lists()
    # One for all: what filters ask the database for is kept with it.
    asked = copy.copy(request)
    looks: dict[int, Look] = {}
    found: dict[int, QuerySet[Any]] = {}
    for view in views:
        model_admin = known.get(view.of_list)
        if model_admin is None:
            looks[view.pk] = Look(problem=_("Its list is gone. Delete the view."))
        elif not model_admin.has_view_permission(request):
            looks[view.pk] = Look(problem=_("You may not see its list."))
        elif _is_costly(request, model_admin, view.query):
            looks[view.pk] = Look()
        else:
            try:
                found[view.pk] = rows_of(asked, model_admin, view.query)
            except ViewError as error:
                looks[view.pk] = Look(problem=str(error))
    counts = bounded_counts.read(list(found.values()), COUNTED)
    for key, count in zip(found, counts, strict=True):
        looks[key] = Look(count=counted(count))
    return looks


def check(request: HttpRequest, model_admin: admin.ModelAdmin, query: str) -> None:
    """Raise ``ViewError`` unless a list knows every filter of a query."""
    rows_of(copy.copy(request), model_admin, query)


def rows_of(request: HttpRequest, model_admin: admin.ModelAdmin, query: str) -> QuerySet[Any]:
    """Return the rows that a list shows by a query; raise ``ViewError`` where it does not know it.

    The request is of whoever looks: "mine" is theirs.  Its address becomes the view's.
    """
    problem = unknown_filters(request, model_admin, query)
    if problem:
        raise ViewError(problem)
    request.GET = QueryDict(query)
    wrong = _("The list does not understand these filters any more. Save the view again.")
    if not asks_what_can_be_asked(request):
        raise ViewError(wrong)
    try:
        listed = _UnreadList(
            request,
            model_admin.model,
            model_admin.get_list_display(request),
            (),
            model_admin.get_list_filter(request),
            None,
            model_admin.get_search_fields(request),
            False,
            1,
            1,
            (),
            model_admin,
            # In no order: rows are only counted.
            (),
            None,
        )
        bounded_counts.check(listed.queryset)
    except (IncorrectLookupParameters, DisallowedModelAdminLookup, OverflowError) as error:
        raise ViewError(wrong) from error
    # One that has no choices is not among them: its value is none that it knows.
    specs = {getattr(spec, "parameter_name", ""): spec for spec in listed.filter_specs}
    wrong_values = [
        name
        for name, value in saved_views.parts_of(query)
        if name in _names(request, model_admin) and not _has_choice(specs.get(name), value)
    ]
    if wrong_values:
        raise ViewError(no_such(wrong_values))
    rows: QuerySet[Any] = listed.queryset
    return rows


def _has_choice(spec: Any, value: str) -> bool:
    return spec is not None and value in {str(choice) for choice, _label in spec.lookup_choices}


def _names(request: HttpRequest, model_admin: admin.ModelAdmin) -> set[str]:
    """Return the parameters of a list's own filters."""
    specs = model_admin.get_list_filter(request)
    return {getattr(spec, "parameter_name", "") for spec in specs}


def _is_costly(request: HttpRequest, model_admin: ViewListAdmin, query: str) -> bool:
    """Say whether a filter of a view asks the database before it narrows anything."""
    names = {name for name, _value in saved_views.parts_of(query)}
    costly = {
        getattr(spec, "parameter_name", "")
        for spec in model_admin.get_list_filter(request)
        if getattr(spec, "asks_first", False)
    }
    return bool(names & costly)
