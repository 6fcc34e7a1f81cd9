"""The health page: agents together, or one of them, over an hour, a day or a month."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext as _

from workers.definitions.sentences import in_words
from workers.desk.admin import flow
from workers.desk.admin.health import charts, figures, marks
from workers.desk.admin.health.figures import RANGES, AgentFigures, Frame, range_named
from workers.desk.admin.health.one_page import OnePageAdmin
from workers.desk.models import Minute, ProbeResult
from workers.desk.operate import health
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.runtime import timestamps
from workers.store import leases

#: If figures end longer ago than this, no worker performs their duty.
STALE = timedelta(minutes=4)
#: Probes whose findings say which workers are alive and what waits for them.
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
    agent_name = request.GET.get("agent", "")
    frame, now = frame_now(request.GET.get("range", ""))
    rows = figures.read(frame, agent_name or None)
    agent = agent_name if agent_name in rows.agents else ""
    if agent_name and not agent:
        # There is no such agent, or not in this range.
        rows = figures.read(frame)
    frame = rows.frame
    by_agent = {name: figures.of_agent(rows, name) for name in rows.agents}
    columns = by_agent[agent].columns if agent else figures.together(rows)
    agent_charts = charts.of_agent(frame, columns) if agent else charts.of_all(frame, columns)
    events = marks.read(frame, request.user, agent)
    return {
        "title": agent or _("Health"),
        "now": now,
        "frame": frame,
        "agent": agent,
        "agents": [_line(row, frame) for row in by_agent.values()],
        "charts": agent_charts,
        "labels": charts.labels(frame, now),
        "marks": [(mark, charts.place_of(frame, mark.at)) for mark in events],
        "heads": charts.heads(is_agent=bool(agent)),
        "lines": [_table_line(column, is_agent=bool(agent)) for column in columns],
        "ranges": [(item, _query(item.name, agent), item == frame.range) for item in RANGES],
        "all_url": f"?{_query(frame.range.name, '')}",
        "zone": timestamps.zone_at(now),
        "is_stale": now - frame.until > STALE,
        "looks": _looks() if request.user.has_perm("desk.view_proberesult") else [],
        "may_set": request.user.has_perm(flow.PERMISSION),
        "poll_url": f"{request.path}?{_query(frame.range.name, agent)}",
    }


def _query(range_name: str, agent: str) -> str:
    return urlencode({"range": range_name, **({"agent": agent} if agent else {})})


def _line(row: AgentFigures, frame: Frame) -> dict[str, Any]:
    """Return an agent's line of the table."""
    level = row.level
    return {
        "figures": row,
        "url": f"?{_query(frame.range.name, row.agent)}",
        "rate": charts.number(row.rate),
        "bad": [
            (charts.RESULT_WORDS[name], count)
            for name, count in row.counts.items()
            if count and name != "ok"
        ],
        "calls": [charts.seconds(value) for value in row.calls.values()],
        "waits": [charts.seconds(value) for value in row.waits.values()],
        "oldest": charts.seconds(level.oldest_seconds) if level else "",
        "breaker": charts.breaker_word(level.breaker) if level else "",
        "spark": charts.spark(
            frame, figures.since_known(row.columns, [column.rate for column in row.columns])
        ),
    }


def _table_line(column: figures.Column, *, is_agent: bool) -> list[str]:
    """Return a line of the table with the figures of the charts."""
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
