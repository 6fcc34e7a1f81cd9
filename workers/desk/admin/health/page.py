"""The health page: how agents have fared for an hour, a day or a month; and each by itself."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _

from workers.definitions.sentences import in_words
from workers.desk.admin import flow_views
from workers.desk.admin.health import charts, figures, marks
from workers.desk.admin.health.figures import AgentFigures
from workers.desk.admin.health.frames import RANGES, Frame, range_named
from workers.desk.admin.health.one_page import OnePageAdmin
from workers.desk.models import Minute, ProbeResult
from workers.desk.operate import health
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.runtime import timestamps
from workers.store import leases

#: Figures that end longer ago than this are those of a duty that nobody performs.
STALE = timedelta(minutes=4)
#: Probes whose findings say who is there and what waits for them.
LOOKS = ("queues.are_read", "workers.answer")


@admin.register(Minute)
class MinuteAdmin(OnePageAdmin):
    """The health page."""

    page_template = "admin/workers/health/page.html"
    live_template = "admin/workers/health/live.html"

    def page_context(self, request: HttpRequest, now: datetime) -> dict[str, Any]:
        return _context(request)


def frame_now(name: str) -> tuple[Frame, datetime]:
    """Return a range that ends where minutes have been rolled up, and the present instant."""
    now, cursor = leases.clock_and_cursor(health.HEALTH)
    until = datetime.fromtimestamp(cursor, UTC) if cursor else begin(now, Span.MINUTE)
    return Frame(range_named(name), until), now


def _context(request: HttpRequest) -> dict[str, Any]:
    """Return what the page shows, or its live part."""
    asked = request.GET.get("agent", "")
    frame, now = frame_now(request.GET.get("range", ""))
    rows = figures.read(frame, asked or None)
    agent = asked if asked in rows.agents else ""
    if asked and not agent:
        # Nobody knows such an agent, or not in this range.
        rows = figures.read(frame)
    by_agent = {name: figures.of_agent(rows, name) for name in rows.agents}
    columns = by_agent[agent].columns if agent else figures.together(rows)
    drawn = charts.of_agent(frame, columns) if agent else charts.of_all(frame, columns)
    happened = marks.read(frame, request.user, agent)
    return {
        "title": agent or _("Health"),
        "now": now,
        "frame": frame,
        "agent": agent,
        "agents": [_line(one, frame) for one in by_agent.values()],
        "charts": drawn,
        "labels": charts.labels(frame, now),
        "marks": [(mark, charts.place_of(frame, mark.at)) for mark in happened],
        "heads": charts.heads(is_agent=bool(agent)),
        "lines": [_table_line(column, is_agent=bool(agent)) for column in columns],
        "ranges": [(one, _query(one.name, agent), one == frame.range) for one in RANGES],
        "all_url": f"?{_query(frame.range.name, '')}",
        "zone": timestamps.zone_at(now),
        "is_stale": now - frame.until > STALE,
        "looks": _looks() if request.user.has_perm("desk.view_proberesult") else [],
        "may_set": request.user.has_perm(flow_views.PERMISSION),
        "poll_url": f"{request.path}?{_query(frame.range.name, agent)}",
    }


def _query(range_name: str, agent: str) -> str:
    return urlencode({"range": range_name, **({"agent": agent} if agent else {})})


def _line(one: AgentFigures, frame: Frame) -> dict[str, Any]:
    """Return an agent's line of the table."""
    level = one.level
    return {
        "figures": one,
        "url": f"?{_query(frame.range.name, one.agent)}",
        "rate": charts.number(one.rate),
        "bad": [
            (charts.RESULT_WORDS[name], count)
            for name, count in one.counts.items()
            if count and name != "ok"
        ],
        "calls": [charts.seconds(value) for value in one.calls.values()],
        "waits": [charts.seconds(value) for value in one.waits.values()],
        "oldest": charts.seconds(level.oldest_seconds) if level else "",
        "breaker": charts.breaker_word(level.breaker) if level else "",
        "spark": charts.spark(
            frame, figures.since_known(one.columns, [column.rate for column in one.columns])
        ),
    }


def _table_line(column: figures.Column, *, is_agent: bool) -> list[str]:
    """Return a line of the table that says what the charts draw."""
    level = column.level
    rates = [charts.number(rate) if rate else "" for rate in column.rates.values()]
    percentiles = (*column.calls.values(), *column.waits.values())
    times = [charts.seconds(value) for value in percentiles]
    stands = (
        ["", "", ""]
        if level is None
        else [
            str(level.pending),
            _("%(n)s of %(window)s") % {"n": level.in_flight, "window": level.window_size},
            charts.seconds(level.oldest_seconds),
        ]
    )
    tail = [charts.breaker_word(level.breaker) if level else ""] if is_agent else []
    return [timestamps.full(column.at), *rates, *times, *stands, *tail]


def _looks() -> list[tuple[ProbeResult, list[str]]]:
    rows = ProbeResult.objects.filter(name__in=LOOKS)
    return [(row, [in_words(finding["what"]) for finding in row.findings]) for row in rows]
