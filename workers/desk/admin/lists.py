"""Change lists that keep themselves up to date: the page, and its rows alone for a poll."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ERROR_FLAG, SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.forms import Media, Script
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, resolve_url
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.text import capfirst

from workers.definitions import registry
from workers.desk.admin import changes
from workers.desk.admin.changes import Marker
from workers.desk.admin.history import MaskedHistoryAdmin
from workers.desk.admin.paging import BoundedPaginator, Facets
from workers.desk.admin.wording import Text
from workers.desk.rules import list_query
from workers.rules import attributes
from workers.runtime.storable_text import is_storable
from workers.store.db import dialect

#: A view below a list: its name, its address, and the view.
View = tuple[str, str, Callable[..., HttpResponseBase]]

#: Read by ``live.js``: the database's clock, which also marks an answer as one of ours.
CLOCK_HEADER = "X-Server-Now"
#: The marker of a page, from ``changes``: sent with it, and back by its polls (``live.js``).
SEEN_HEADER = "X-Seen"


#: The longest text that a list is searched or filtered by.
LONGEST_QUESTION = 400

#: With more rows than this there are no counts beside the filters: each reads all rows.
FACET_ROWS = 10_000


def is_poll(request: HttpRequest) -> bool:
    """Return whether a page asks for its live part only."""
    return request.method == "GET" and request.headers.get("HX-Request") == "true"


def back_to(request: HttpRequest, list_name: str) -> HttpResponseRedirect:
    """Redirect to a list as it was filtered: actions hand its query on from page to page.

    ``list_name`` is its URL, or the name of that.
    """
    query = request.GET.urlencode()
    return redirect(resolve_url(list_name) + (f"?{query}" if query else ""))


def names_person(parameter: str, value: str) -> bool:
    """Say whether a parameter of a list's URL may name a person: a search, a personal attribute."""
    if parameter == list_query.WHERE:
        names = {name for name, _words in list_query.attributes(value)}
        return bool(names & attributes.personal(registry.workflows()))
    return parameter == SEARCH_VAR


def without_search(query: QueryDict) -> str:
    """Return a list's query without what may name a person."""
    filters = query.copy()
    for name in query:
        if any(names_person(name, value) for value in query.getlist(name)):
            filters.pop(name)
    return filters.urlencode()


def stamp(response: HttpResponse, marker: Marker) -> None:
    """Send the database's clock along, for the countdowns, and what the page now shows."""
    response[CLOCK_HEADER] = marker.at.isoformat()
    response[SEEN_HEADER] = marker.text


def is_seen(request: HttpRequest, marker: Marker) -> bool:
    """Return whether a poll comes from a page that already shows the state of ``marker``."""
    return is_poll(request) and request.headers.get(SEEN_HEADER) == marker.text


def unchanged(marker: Marker) -> HttpResponse:
    """Answer a poll with nothing but the clock."""
    response = HttpResponse(status=204)
    stamp(response, marker)
    return response


def live_part(
    request: HttpRequest, marker: Marker, template: str, context: Callable[[], dict[str, Any]]
) -> HttpResponse:
    """Answer with the live part of a page; with 204, and nothing read, if it is shown already.

    Read the marker before the call: then the next poll sees what changes meanwhile.
    """
    if is_seen(request, marker):
        return unchanged(marker)
    response = TemplateResponse(request, template, context())
    stamp(response, marker)
    return response


def live_page(
    request: HttpRequest,
    model_admin: admin.ModelAdmin,
    marker: Marker,
    templates: tuple[str, str],
    context: Callable[[], dict[str, Any]],
) -> HttpResponse:
    """Answer with a page that keeps itself up to date; a poll, with its live part.

    ``templates`` are those of the page and of its live part; ``context`` is for both.
    """
    page, part = templates
    if is_poll(request):
        return live_part(request, marker, part, context)
    around = {
        **model_admin.admin_site.each_context(request),
        "server_now": marker.at.isoformat(),
        "seen": marker.text,
        "media": Media(LiveMedia),
        "opts": model_admin.opts,
    }
    response = TemplateResponse(request, page, around | context())
    stamp(response, marker)
    return response


def column(head: Text, cell: Callable[[Any], Any], order: Any = None) -> Any:
    """Return a column of a list as a value: its head, what a row shows, what it is sorted by."""
    return staticmethod(admin.display(description=head, ordering=order)(cell))  # type: ignore[arg-type]


def set_now(rows: Iterable[Any]) -> datetime:
    """Add the database's time to rows, in memory, for clocks in their columns."""
    now = dialect.read_clock()
    for row in rows:
        row.now = now
    return now


def own_page(
    request: HttpRequest,
    template: str,
    model: type[Model],
    context: dict[str, Any],
    status: int = 200,
) -> HttpResponse:
    """Answer with a page of ours that belongs to the list of a model."""
    around = {**admin.site.each_context(request), "media": Media(LiveMedia), "opts": model._meta}
    return TemplateResponse(request, template, around | context, status=status)


class LiveMedia:
    """Style and scripts of every page of ours."""

    css = {"all": ["workers/admin.css"]}
    js = [
        Script("workers/htmx-2.min.js", defer=True),
        Script("workers/countdown.js", defer=True),
        Script("workers/live.js", defer=True),
        Script("workers/tables.js", defer=True),
        Script("workers/keys.js", defer=True),
    ]


def is_askable(text: str) -> bool:
    """Return whether a query can contain a text: no NUL, no lone surrogate, not too long."""
    return len(text) <= LONGEST_QUESTION and is_storable(text)


def asks_what_can_be_asked(request: HttpRequest) -> bool:
    """Return whether queries can contain all values of a URL."""
    # Django itself reports a NUL in the search.
    texts = [
        value.replace("\x00", "") if name == SEARCH_VAR else value
        for name, values in request.GET.lists()
        for value in values
    ]
    return all(map(is_askable, texts))


class AskableListAdmin(MaskedHistoryAdmin):
    """A list, and pages, that answer any URL.

    A value that no query can contain redirects to the whole list, with Django's error for a
    filter that it did not understand.
    """

    #: Fields that no URL may filter by: masked or hidden values could be guessed letter by
    #: letter, by what such a filter finds.
    never_asked: ClassVar[tuple[str, ...]] = ()
    #: Acts of operators, each at its address below the list.
    acts: ClassVar[Sequence[Any]] = ()

    def views(self) -> list[View]:
        """Return the views at addresses below the list, beside Django's."""
        return [(act.name, act.address or f"<int:pk>/{act.name}/", act.view()) for act in self.acts]

    def get_urls(self) -> list[URLPattern]:
        prefix, wrap = f"{self.opts.app_label}_{self.opts.model_name}", self.admin_site.admin_view
        ours = [path(url, wrap(view), name=f"{prefix}_{name}") for name, url, view in self.views()]
        return [*ours, *super().get_urls()]

    def url_of(self, name: str, *args: Any) -> str:
        """Return the URL of a view of this list: ``changelist``, ``change`` or one of ours."""
        url_name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}"
        return reverse(url_name, args=args, current_app=self.admin_site.name)

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        """Add to the rows of a page, in memory, what columns show; mask what they must not."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return BoundedChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        is_private = not set(lookup.split(LOOKUP_SEP)).isdisjoint(self.never_asked)
        return not is_private and super().lookup_allowed(lookup, value, request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not asks_what_can_be_asked(request):
            return redirect(f"{request.path}?{ERROR_FLAG}=1")
        try:
            return super().changelist_view(request, extra_context)
        except OverflowError:
            # An instant that is out of range in another time zone.
            return redirect(f"{request.path}?{ERROR_FLAG}=1")

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Model | None:
        if not is_askable(object_id):
            return None
        return super().get_object(request, object_id, from_field)


class LiveListAdmin(AskableListAdmin):
    """A list that refreshes its rows; polls are answered without filters and their counts.

    If nothing has changed, a poll is answered with 204 before a row is read."""

    change_list_template = "admin/workers/live_list.html"
    # The page of a row loads the same scripts.
    change_form_template = "admin/workers/change_page.html"
    show_full_result_count = False
    list_per_page = 50
    # A page of all rows would be megabytes.
    list_max_show_all = 0

    class Media(LiveMedia):
        pass

    def marker(self, request: HttpRequest) -> Marker:
        """Return a marker that tells cheaply whether the list has changed."""
        return changes.of_everything()

    def get_paginator(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        per_page: int,
        *args: Any,
        **kwargs: Any,
    ) -> Paginator:
        if queryset.model is not self.model:
            # The history of a row.
            return super().get_paginator(request, queryset, per_page, *args, **kwargs)
        return BoundedPaginator(queryset, per_page, rows=self.get_queryset(request))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        related = self.list_select_related
        return rows.select_related(*related) if isinstance(related, tuple) else rows

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        # Read before the rows: the next poll sees what changes meanwhile.
        marker = self.marker(request)
        if is_seen(request, marker) and self.has_view_permission(request):
            return unchanged(marker)
        context = {
            "title": capfirst(self.opts.verbose_name_plural),
            "server_now": marker.at.isoformat(),
            "seen": marker.text,
            **(extra_context or {}),
        }
        response = super().changelist_view(request, context)
        if is_poll(request) and isinstance(response, TemplateResponse):
            response.template_name = "admin/workers/live_rows.html"
            stamp(response, marker)
        return response


class BoundedChangeList(ChangeList):
    """A change list that costs about the same however many rows its table has.

    Rows are counted up to a bound, and a large table has no counts beside filters: each would read
    all of it.
    """

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if is_poll(request) or (self.filter_specs and self._is_large()):
            self.add_facets = self.is_facets_optional = False
        facets = Facets(request, self, getattr(self, "_lookup_params", {}))
        for spec in self.filter_specs:
            # Django calls each filter, which would make a query of its own.
            spec.get_facet_queryset = lambda _listed, spec=spec: facets.of(spec)  # type: ignore[attr-defined]

    def get_filters(self, request: HttpRequest) -> Any:
        """Keep the conditions of the URL that belong to no filter: they apply to facets, too."""
        result = super().get_filters(request)
        self._lookup_params = dict(result[2])
        return result

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        if not self.multi_page:
            # Django would query the only page by the filters again.
            self.result_list = self.paginator.page(1).object_list
        self.result_list = list(self.result_list)
        model_admin: Any = self.model_admin
        model_admin.prepare(request, self.result_list)

    def get_ordering_field(self, field_name: Any) -> Any:
        """Return what a column is sorted by; None if it must not be, whatever the URL says."""
        may = field_name in (self.sortable_by or ())
        return super().get_ordering_field(field_name) if may else None

    @property
    def is_bounded(self) -> bool:
        """Return whether there are more rows than were counted."""
        return bool(getattr(self.paginator, "is_bounded", False))

    def _is_large(self) -> bool:
        newest = getattr(self.paginator, "newest", None)
        if newest is None:
            # Nothing is listed, so the paginator does not know the newest key.
            newest = self.root_queryset.order_by("-pk").values_list("pk", flat=True).first()
        return isinstance(newest, int) and newest > FACET_ROWS
