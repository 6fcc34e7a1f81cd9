"""The search of a list as a query bar: ``state:error since:1h`` becomes the list's own filters."""

from dataclasses import dataclass
from typing import Any

from django.contrib.admin.views.main import ERROR_FLAG, PAGE_VAR, SEARCH_VAR
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from workers.definitions import registry
from workers.desk.admin.lists import AskableListAdmin
from workers.desk.rules import list_query
from workers.desk.rules.list_query import QueryError


@dataclass(frozen=True, slots=True)
class Chip:
    """One filter of a list, and the URL of the list without it."""

    text: str
    url: str


class QueryBarAdmin(AskableListAdmin):
    """A list of processes, or of their subjects, whose search takes words.

    The words redirect to the URL with the filters: it can be shared, and nothing is read twice.
    """

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        typed, problem = request.GET.get(SEARCH_VAR, ""), ""
        try:
            query = list_query.parse(typed, self._filters(), registry.attributes())
        except QueryError as error:
            problem = str(error)
            # Nothing is searched then; the text stays in the field, to be corrected.
            request.GET = _without(request.GET, SEARCH_VAR)  # type: ignore[assignment]
        else:
            if not query.is_plain and request.method == "GET":
                target = _without(request.GET, SEARCH_VAR, PAGE_VAR, ERROR_FLAG)
                for name, value in query.params.items():
                    target[name] = value
                return redirect(f"{request.path}?{target.urlencode()}")
        response = super().changelist_view(request, extra_context)
        changelist = _changelist(response)
        if changelist is not None:
            is_empty_search = typed and not problem and not changelist.result_count
            if is_empty_search:
                problem = list_query.unknown(typed, self._filters())
            changelist.problem = problem
            changelist.chips = chips(request.GET, changelist)
            # Separate from ``query``, which is what the list counts by.
            changelist.typed = typed if problem else changelist.query
        return response

    def found_by(self, request: HttpRequest, term: str) -> Q:
        """Return the condition for rows that match a text, which the user of a request typed.

        A part of a masked value must find nothing: the value could be guessed letter by letter.
        """
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = list_query.searched(search_term.strip())
        return (queryset.filter(self.found_by(request, term)) if term else queryset), False

    def _filters(self) -> set[str]:
        """Return the parameters that the list narrows its rows by."""
        return {
            spec if isinstance(spec, str) else str(getattr(spec, "parameter_name", ""))
            for spec in self.list_filter
        }


def _changelist(response: HttpResponse) -> Any:
    if not isinstance(response, TemplateResponse) or not response.context_data:
        return None
    return response.context_data.get("cl")


def chips(query: QueryDict, changelist: Any) -> list[Chip]:
    """Return the active filters of a list, each with the URL without it."""
    # Django's own parameters, such as the order, narrow nothing.
    filters = changelist.get_filters_params()
    specs = {getattr(spec, "parameter_name", ""): spec for spec in changelist.filter_specs}
    result = []
    for name in query:
        if name not in filters and name != SEARCH_VAR:
            continue
        value = query[name]
        title = _("search") if name == SEARCH_VAR else name
        if name in specs:
            title = str(specs[name].title)
            value = str(dict(specs[name].lookup_choices).get(value, value))
        remainder = _without(query, name, PAGE_VAR, ERROR_FLAG).urlencode()
        result.append(Chip(f"{title}: {value}", f"?{remainder}"))
    return result


def _without(query: QueryDict, *names: str) -> QueryDict:
    copy = query.copy()
    for name in names:
        copy.pop(name, None)
    return copy
