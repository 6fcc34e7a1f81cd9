"""The doctor as a page: what each probe found when it looked last."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.admin import badges, changes, lists
from workers.admin.lists import LiveMedia
from workers.admin.readonly import ReadOnlyAdmin
from workers.admin.wording import Text
from workers.models import ProbeResult
from workers.operate import examinations

#: After so long without a look at it, a result says how things were.
STALE = timedelta(seconds=3 * examinations.INTERVAL_SECONDS)
#: The words of levels, and the shape and tone that each has among states.
LEVELS: dict[str, tuple[Text, str]] = {
    "error": (lazy("error"), "error"),
    "warning": (lazy("warning"), "skipped"),
    "info": (lazy("to know"), "pending"),
    "ok": (lazy("in order"), "processed"),
}
_ORDER = list(LEVELS)


@dataclass(frozen=True, slots=True)
class Line:
    """One finding of a probe."""

    mark: SafeString
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe's last look."""

    row: ProbeResult
    lines: list[Line]
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    mark: SafeString
    probes: list[Probe]


@admin.register(ProbeResult)
class ProbeResultAdmin(ReadOnlyAdmin):
    """All probes on one page, by group, in place of a list of rows."""

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [path("", wrap(self.changelist_view), name="workers_proberesult_changelist")]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        marker = changes.of_health()
        if lists.is_seen(request, marker):
            return lists.unchanged(marker)
        rows = list(ProbeResult.objects.order_by("name"))
        newest = max((row.looked_at for row in rows), default=None)
        context: dict[str, Any] = {
            "groups": groups(rows, marker.at),
            "newest": newest,
            "is_stale": newest is not None and marker.at - newest > STALE,
            "now": marker.at,
            **(extra_context or {}),
        }
        if lists.is_poll(request):
            response = TemplateResponse(request, "admin/workers/health/doctor.html", context)
            lists.stamp(response, marker)
            return response
        context |= {
            **self.admin_site.each_context(request),
            "title": _("Doctor"),
            "server_now": marker.at.isoformat(),
            "seen": marker.text,
            "media": forms.Media(LiveMedia),
            "opts": self.opts,
        }
        return TemplateResponse(request, "admin/workers/health/doctor_page.html", context)


def groups(rows: Iterable[ProbeResult], now: datetime) -> list[Group]:
    """Return probes by group: the group with the worst first, and its worst probe first."""
    found = []
    for name, members in groupby(rows, lambda row: row.name.partition(".")[0]):
        probes = sorted(members, key=lambda row: (_rank(row.level), row.name))
        worst = probes[0].level
        found.append(
            (_rank(worst), Group(name, _mark(worst), [_probe(row, now) for row in probes]))
        )
    return [group for _worst, group in sorted(found, key=lambda pair: (pair[0], pair[1].name))]


def _probe(row: ProbeResult, now: datetime) -> Probe:
    findings = sorted(row.findings, key=lambda finding: _rank(finding["level"]))
    lines = [
        Line(_mark(one["level"]), one["what"], one["why"], one["remedy"]) for one in findings
    ] or [Line(_mark(row.level), row.name.partition(".")[2].replace("_", " "), "", "")]
    is_costly = row.seconds >= examinations.COSTLY_SECONDS
    rest = timedelta(seconds=examinations.COSTLY_REST_SECONDS if is_costly else 0)
    return Probe(row, lines, now - row.looked_at > STALE + rest)


def _mark(level: str) -> SafeString:
    word, shape = LEVELS[level]
    return badges.label(word, shape, shape)


def _rank(level: str) -> int:
    return _ORDER.index(level)
