"""Change lists that keep themselves up to date: the page, and its rows alone for a poll."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IS_FACETS_VAR
from django.contrib.admin.views.main import ChangeList
from django.forms import Script
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst

from workers.admin import standing
from workers.models import Process
from workers.store import holds, sql

#: Read by ``live.js``: the database's clock, and the sign that an answer is one of ours.
CLOCK_HEADER = "X-Server-Now"


#: With more rows than this, counts beside the filters are a click away instead of always there.
FACET_ROWS = 200_000


def is_poll(request: HttpRequest) -> bool:
    """Say whether a page asks for its live part only."""
    return request.method == "GET" and request.headers.get("HX-Request") == "true"


def back_to(request: HttpRequest, name: str) -> HttpResponse:
    """Redirect to a list as it was filtered: actions hand its query on from page to page."""
    query = request.GET.urlencode()
    return redirect(reverse(name) + (f"?{query}" if query else ""))


def stamp(response: HttpResponse) -> None:
    """Send the database's clock along, for the countdowns."""
    response[CLOCK_HEADER] = sql.read_clock().isoformat()


class LiveMedia:
    """Style and scripts of every page of ours."""

    css = {"all": ["workers/admin.css"]}
    js = [
        Script("django_htmx/htmx-2.min.js", defer=True),
        Script("workers/countdown.js", defer=True),
        Script("workers/live.js", defer=True),
        Script("workers/tables.js", defer=True),
    ]


class LiveListAdmin(admin.ModelAdmin):
    """A list that refreshes its rows; a poll is answered without filters and their counts."""

    change_list_template = "admin/workers/live_list.html"
    show_full_result_count = False
    list_per_page = 50

    class Media(LiveMedia):
        pass

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "title": capfirst(self.opts.verbose_name_plural),
            "server_now": sql.read_clock().isoformat(),
            **(extra_context or {}),
        }
        response = super().changelist_view(request, context)
        if is_poll(request) and isinstance(response, TemplateResponse):
            response.template_name = "admin/workers/live_rows.html"
            stamp(response)
        return response


class StandingChangeList(ChangeList):
    """A change list whose rows know where their processes stand."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        if self.add_facets and not is_poll(request) and self._is_large():
            self.is_facets_optional = True
            self.add_facets = IS_FACETS_VAR in request.GET

    def _is_large(self) -> bool:
        """Say whether counting every filter would keep an operator waiting."""
        newest = self.root_queryset.order_by("-pk").values_list("pk", flat=True).first()
        return newest is not None and newest > FACET_ROWS

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        now, held = sql.read_clock(), holds.current()
        self.result_list = list(self.result_list)
        for row in self.result_list:
            process = row if isinstance(row, Process) else row.process
            row.standing = standing.of(process, now, held)
