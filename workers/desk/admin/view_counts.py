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
from workers.desk.store import bounded_counts


@dataclass(frozen=True, slots=True)
class Look:
    """Whether a view can be shown, and its count."""

    #: Why it cannot be shown; empty if it can.
    problem: str = ""
    #: How many rows it finds, as text; empty if they are not counted.
    count: str = ""


class _UnreadList(ChangeList):
    """A change list that has its filters, but reads no rows."""

    def get_results(self, request: HttpRequest) -> None:
        self.result_count = 0


def look(request: HttpRequest, views: Iterable[SavedView]) -> dict[int, Look]:
    """Return the looks of views by their ids; all rows are counted in one query."""
    list_admins = lists()
    # One copy for all views: filters cache their queries on it.
    request_copy = copy.copy(request)
    looks: dict[int, Look] = {}
    querysets: dict[int, QuerySet[Any]] = {}
    for view in views:
        model_admin = list_admins.get(view.of_list)
        if model_admin is None:
            looks[view.pk] = Look(problem=_("Its list is gone. Delete the view."))
        elif not model_admin.has_view_permission(request):
            looks[view.pk] = Look(problem=_("You may not see its list."))
        elif _is_costly(request, model_admin, view.query):
            looks[view.pk] = Look()
        else:
            try:
                querysets[view.pk] = rows_of(request_copy, model_admin, view.query)
            except ViewError as error:
                looks[view.pk] = Look(problem=str(error))
    counts = bounded_counts.read(list(querysets.values()), COUNTED)
    for key, count in zip(querysets, counts, strict=True):
        looks[key] = Look(count=counted(count))
    return looks


def check(request: HttpRequest, model_admin: admin.ModelAdmin, query: str) -> None:
    """Raise ``ViewError`` unless a list knows every filter of a query."""
    rows_of(copy.copy(request), model_admin, query)


def rows_of(request: HttpRequest, model_admin: admin.ModelAdmin, query: str) -> QuerySet[Any]:
    """Return the rows that a list shows by a query; raise ``ViewError`` if it does not know it.

    The request is the viewer's, so that "mine" is theirs.  Its query becomes the view's.
    """
    problem = unknown_filters(request, model_admin, query)
    if problem:
        raise ViewError(problem)
    request.GET = QueryDict(query)
    wrong = _("The list does not understand these filters any more. Save the view again.")
    if not asks_what_can_be_asked(request):
        raise ViewError(wrong)
    try:
        changelist = _UnreadList(
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
        bounded_counts.check(changelist.queryset)
    except (IncorrectLookupParameters, DisallowedModelAdminLookup, OverflowError) as error:
        raise ViewError(wrong) from error
    # A filter without choices is not among them: its value counts as unknown.
    specs = {getattr(spec, "parameter_name", ""): spec for spec in changelist.filter_specs}
    wrong_values = [
        name
        for name, value in saved_views.parts_of(query)
        if name in _names(request, model_admin) and not _has_choice(specs.get(name), value)
    ]
    if wrong_values:
        raise ViewError(no_such(wrong_values))
    rows: QuerySet[Any] = changelist.queryset
    return rows


def _has_choice(spec: Any, value: str) -> bool:
    return spec is not None and value in {str(choice) for choice, _label in spec.lookup_choices}


def _names(request: HttpRequest, model_admin: admin.ModelAdmin) -> set[str]:
    """Return the parameters of a list's own filters."""
    specs = model_admin.get_list_filter(request)
    return {getattr(spec, "parameter_name", "") for spec in specs}


def _is_costly(request: HttpRequest, model_admin: ViewListAdmin, query: str) -> bool:
    """Return whether a filter of a view queries the database before it narrows anything."""
    names = {name for name, _value in saved_views.parts_of(query)}
    costly = {
        getattr(spec, "parameter_name", "")
        for spec in model_admin.get_list_filter(request)
        if getattr(spec, "asks_first", False)
    }
    return bool(names & costly)
