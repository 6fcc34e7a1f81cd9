"""The audit: what people did, in the admin and in terminals, read from the journal."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import ShowFacets
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import ReadOnlyAdmin
from workers.desk.admin import act_lines, badges, csv_files, search
from workers.desk.admin.csv_files import CsvListAdmin
from workers.desk.admin.lists import LiveListAdmin, column
from workers.models import Act
from workers.states import PEOPLE


def _what(row: Any) -> SafeString | str:
    event = str(row.line.event)
    return badges.beside(event, row.line.step) if row.line.step else event


def _about(row: Any) -> SafeString | str:
    text = row.about_text or badges.NOTHING
    if row.about_url:
        text = badges.link(row.about_url, row.about_text)
    if row.job is None:
        return text
    url = reverse("admin:desk_bulkjob_change", args=[row.job])
    label = _("job %(n)d") % {"n": row.job}
    return format_html('{} <a class="sas-agent" href="{}">{}</a>', text, url, label)


def _detail(row: Act) -> SafeString:
    text = json.dumps(row.detail, ensure_ascii=False, indent=1, default=str, sort_keys=True)
    return format_html('<pre tabindex="0">{}</pre>', text)


@admin.register(Act)
class ActAdmin(ReadOnlyAdmin, CsvListAdmin, LiveListAdmin):
    """What people did, newest first; needs a permission of its own, ``workers.view_act``."""

    # The model's verbose name cannot be counted.
    row_name, rows_name = lazy("act"), lazy("acts")
    list_display = ("when", "who", "what", "about", "why")
    list_display_links = ("when",)
    list_filter: ClassVar = (
        act_lines.PersonFilter,
        act_lines.VerbFilter,
        act_lines.JobFilter,
        act_lines.FollowingFilter,
        "at",
    )
    show_facets = ShowFacets.NEVER
    sortable_by = ()
    never_asked = ("detail",)
    search_fields = ("actor",)
    search_help_text = lazy("A person's name, or what finds the process or the order")
    ordering = ("-at", "-id")
    actions = None
    fields = ("when", "who", "what", "about", "why", "detail_text")
    csv_heads = ("at", "actor", "event", "what", "about", "process", "step", "reason", "detail")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Act]:
        rows = super().get_queryset(request)
        return rows.select_related("process", "step").defer(
            "process__input", "step__result", "step__reply"
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Act], search_term: str
    ) -> tuple[QuerySet[Act], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        process_ids = search.newest(term)
        by_name = Q(actor__in=[term, f"{PEOPLE}{term}"])
        return queryset.filter(
            by_name | Q(process__in=process_ids) if process_ids else by_name
        ), False

    def prepare(self, request: HttpRequest, rows: list[Any]) -> None:
        act_lines.put_into_words(rows, request.user)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        row = super().get_object(request, object_id, from_field)
        if isinstance(row, Act):
            act_lines.put_into_words([row], request.user)
        return row

    def csv_lines(self, rows: list[Act], *, is_personal: bool) -> Iterable[Sequence[Any]]:
        act_lines.put_into_words(rows, None, is_personal=is_personal)
        for row in rows:
            untyped: Any = row
            reason = row.detail.get("reason", "")
            yield (
                csv_files.instant(row.at),
                row.actor,
                row.event,
                untyped.line.event,
                untyped.about_text,
                row.process_id or "",
                row.step.name if row.step else "",
                reason,
                json.dumps(row.detail, ensure_ascii=False, default=str, sort_keys=True),
            )

    when = column(lazy("when"), lambda row: badges.instant(row.at))
    who = column(lazy("who"), lambda row: row.actor.removeprefix(PEOPLE))
    what = column(lazy("what"), _what)
    about = column(lazy("to what"), _about)
    why = column(lazy("why"), lambda row: badges.message(row.line.gist or badges.NOTHING))
    detail_text = column(lazy("details"), _detail)
