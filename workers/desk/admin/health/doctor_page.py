"""The page of the doctor: what each probe found when it last ran."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from workers.definitions.sentences import in_words
from workers.desk.admin import badges
from workers.desk.admin.health.one_page import OnePageAdmin
from workers.desk.admin.wording import Text
from workers.desk.models import ProbeResult
from workers.desk.operate import examinations

#: A result of a probe that has not run for so long is marked as outdated.
STALE = timedelta(seconds=3 * examinations.INTERVAL_SECONDS)
#: The word of each level, and the state whose shape and tone it has.
LEVELS: dict[str, tuple[Text, str]] = {
    "error": (lazy("error"), "error"),
    "warning": (lazy("warning"), "skipped"),
    "info": (lazy("to know"), "pending"),
    "ok": (lazy("in order"), "processed"),
}
_ORDER = list(LEVELS)
TEXTS = ("what", "why", "remedy")


@dataclass(frozen=True, slots=True)
class Line:
    """One finding of a probe."""

    mark: SafeString
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe's last result."""

    row: ProbeResult
    lines: list[Line]
    is_stale: bool


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    mark: SafeString
    probes: list[Probe]


@admin.register(ProbeResult)
class ProbeResultAdmin(OnePageAdmin):
    """All probes, by group."""

    page_template = "admin/workers/health/doctor_page.html"
    live_template = "admin/workers/health/doctor.html"

    def page_context(self, request: HttpRequest, now: datetime) -> dict[str, Any]:
        rows = list(ProbeResult.objects.order_by("name"))
        newest = max((row.looked_at for row in rows), default=None)
        return {
            "title": _("Doctor"),
            "groups": groups(rows, now),
            "newest": newest,
            "is_stale": newest is not None and now - newest > STALE,
            "now": now,
        }


def groups(rows: Iterable[ProbeResult], now: datetime) -> list[Group]:
    """Return probes by group: the group with the worst probe first, and its worst probe first."""
    ranked_groups = []
    for name, members in groupby(rows, lambda row: row.name.partition(".")[0]):
        probes = sorted(members, key=lambda row: (_rank(row.level), row.name))
        worst = probes[0].level
        ranked_groups.append(
            (_rank(worst), Group(name, _mark(worst), [_probe(row, now) for row in probes]))
        )
    return [
        group for _worst, group in sorted(ranked_groups, key=lambda pair: (pair[0], pair[1].name))
    ]


def _probe(row: ProbeResult, now: datetime) -> Probe:
    findings = sorted(row.findings, key=lambda finding: _rank(finding["level"]))
    lines = [
        Line(_mark(finding["level"]), *(in_words(finding[name]) for name in TEXTS))
        for finding in findings
    ] or [Line(_mark(row.level), row.name.partition(".")[2].replace("_", " "), "", "")]
    is_costly = row.seconds >= examinations.COSTLY_SECONDS
    grace = timedelta(seconds=examinations.COSTLY_REST_SECONDS if is_costly else 0)
    return Probe(row, lines, now - row.looked_at > STALE + grace)


def _mark(level: str) -> SafeString:
    word, shape = LEVELS[level]
    return badges.label(word, shape, shape)


def _rank(level: str) -> int:
    return _ORDER.index(level)
