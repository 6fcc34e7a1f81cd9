"""Lists with saved views above them: their links, and how many rows each view finds."""

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.db.models import Case, Q, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.definitions import registry
from workers.desk.admin.lists import AskableListAdmin, asks_what_can_be_asked, is_poll
from workers.desk.admin.paging import COUNTED, counted
from workers.desk.models import SavedView
from workers.desk.models.saved_view import LONGEST_NAME
from workers.desk.rules import saved_views
from workers.desk.rules.saved_views import ViewError
from workers.desk.store import bounded_counts
from workers.rules import attributes

#: Maximum views above a list, which are counted there; a page has all of them.
SHOWN = 12


class SaveForm(forms.Form):
    """The name of a view, and whether it is shared."""

    name = forms.CharField(label=lazy("Name"), max_length=LONGEST_NAME)
    is_shared = forms.BooleanField(
        label=lazy("Shared"),
        required=False,
        help_text=lazy("Everybody who may see the list sees it, too."),
    )

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            saved_views.refuse_personal(name)
        except ViewError as error:
            raise forms.ValidationError(str(error)) from error
        return name


class ViewListAdmin(AskableListAdmin):
    """A list with links to the views of it that a user has."""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        response = super().changelist_view(request, extra_context)
        if isinstance(response, TemplateResponse) and not is_poll(request):
            context = response.context_data
            if context and "cl" in context:
                context["views"] = strip(request, self)
        return response

    @property
    def list_label(self) -> str:
        """Return the name by which views refer to the list."""
        return str(self.opts.label_lower)

    @property
    def list_url(self) -> str:
        return self.url_of("changelist")


@dataclass(frozen=True, slots=True)
class Strip:
    """What stands above a list before its views are loaded: it costs no query."""

    label: str
    #: The list's query as it is shown.
    query: str
    #: Why that cannot be saved; empty if it can.
    problem: str
    form: SaveForm

    @property
    def links_url(self) -> str:
        """Return the URL that answers with the views, as links with their counts."""
        query = urlencode({"list": self.label, "shown": self.query})
        return f"{reverse('admin:desk_savedview_links')}?{query}"

    @property
    def is_searched(self) -> bool:
        return SEARCH_VAR in QueryDict(self.query)


def strip(request: HttpRequest, model_admin: ViewListAdmin) -> Strip:
    """Return what stands above a list."""
    query, problem = request.GET.urlencode(), ""
    try:
        query = to_query(request.GET)
    except ViewError as error:
        problem = str(error)
    return Strip(model_admin.list_label, query, problem, SaveForm())


def to_query(params: QueryDict) -> str:
    """Return the query that a view keeps of a list's; raise ``ViewError`` if it keeps none."""
    pairs = ((name, value) for name, values in params.lists() for value in values)
    return saved_views.to_query(pairs, attributes.personal(registry.workflows()))


@dataclass(frozen=True, slots=True)
class Link:
    """A view above its list."""

    view: SavedView
    url: str
    is_shown: bool
    #: Who shares it; empty if it is the viewer's own.
    shared_by: str


def links(request: HttpRequest, model_admin: ViewListAdmin, shown: str) -> list[Link]:
    """Return the views of a list, the user's own first; ``shown`` is the query it shows."""
    own_first = Case(When(owner=request.user.pk, then=Value(0)), default=Value(1))
    views = visible(request).filter(of_list=model_admin.list_label).select_related("owner")
    rows = views.order_by(own_first, "name", "pk")[:SHOWN]
    return [_link(request, model_admin, view, shown) for view in rows]


def _link(request: HttpRequest, model_admin: ViewListAdmin, view: SavedView, shown: str) -> Link:
    url = f"{model_admin.list_url}?{view.query}"
    if unknown_filters(request, model_admin, view.query):
        # The list would show everything, without saying why.
        url = reverse("admin:desk_savedview_change", args=[view.pk])
    return Link(
        view,
        url,
        is_shown=saved_views.is_same(view.query, shown),
        shared_by="" if view.owner_id == request.user.pk else str(view.owner),
    )


def unknown_filters(request: HttpRequest, model_admin: ModelAdmin, query: str) -> str:
    """Return a message about filters of a query that a list does not have; empty if it has all."""
    specs: list[Any] = list(model_admin.get_list_filter(request))
    fields = [spec if isinstance(spec, str) else spec[0] for spec in specs if _is_of_field(spec)]
    names = [spec.parameter_name for spec in specs if not _is_of_field(spec)]
    return no_such(saved_views.unknown(query, names, fields))


def no_such(names: Iterable[str]) -> str:
    """Return a message that a list has no filters of these names; empty without names."""
    text = ", ".join(names)
    if not text:
        return ""
    return _("The list has no such filter: %(names)s. Save the view again.") % {"names": text}


def _is_of_field(spec: Any) -> bool:
    return isinstance(spec, str | tuple | list)


def visible(request: HttpRequest) -> QuerySet[SavedView]:
    """Return the views that a user may see: their own, and shared ones of lists they may see."""
    labels = [
        label for label, model_admin in lists().items() if model_admin.has_view_permission(request)
    ]
    own = Q(owner=request.user.pk)
    return SavedView.objects.filter(own | Q(is_shared=True, of_list__in=labels))


def lists() -> dict[str, ViewListAdmin]:
    """Return the lists that have views, by the names by which views refer to them."""
    return {
        model_admin.list_label: model_admin
        for model_admin in admin.site._registry.values()
        if isinstance(model_admin, ViewListAdmin)
    }


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
    wrong = _("The list no longer has these filters. Save the view again.")
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
