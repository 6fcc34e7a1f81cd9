"""Levels of each agent: sampled now and then, kept by the minute; longer spans keep the worst.

A minute's row is the last sample in it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from workers.desk.rules.minutes import LONGER, Level, begin, worst
from workers.desk.states import Span
from workers.rules.breaker import Breaker
from workers.runtime.failpoints import durable
from workers.states import BreakerState
from workers.store.db import dialect

_COLUMNS = {
    "agent": "text",
    "pending": "int",
    "in_flight": "int",
    "failed": "int",
    "window_size": "int",
    "oldest_seconds": "float",
    "breaker": "text",
}
_NAMES = ", ".join(_COLUMNS)
#: Steps of paused processes wait for an operator only.
_PAUSED = (
    "SELECT s.id FROM workers_process p JOIN workers_step s ON s.process_id = p.id"
    " WHERE p.paused_at IS NOT NULL AND p.finished_at IS NULL AND s.state = 'pending'"
)
#: A process that was undone keeps its failed step, which nobody has to mend.  A value, not EXISTS,
#: for which PostgreSQL may read all steps there are.
_IS_OPEN = (
    "SELECT p.finished_at IS NULL FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
    " WHERE s.id = l.step_id"
)


def take(now: datetime | None = None) -> int:
    """Store the agents' levels, for this minute and the spans around it; return how many."""
    at = dialect.read_clock(now)
    minute = begin(at, Span.MINUTE)
    levels = _read(at)
    with durable("gauges.take"):
        _write(Span.MINUTE, minute, levels)
        for span in LONGER:
            since = begin(at, span)
            end = since + timedelta(seconds=span)
            _write(span, since, worst(level for _at, level in of_span(Span.MINUTE, since, end)))
    return len(levels)


def of_span(
    span: Span, since: datetime, until: datetime, agent: str | None = None
) -> list[tuple[datetime, Level]]:
    """Return the levels of all spans that begin at ``since`` or later, and before ``until``.

    Each with its beginning; only those of ``agent``, if given.
    """
    condition, params = ("", []) if agent is None else (" AND agent = %s", [agent])
    levels = []
    for value, *columns in dialect.fetch(
        f"SELECT at, {_NAMES} FROM desk_gauge"
        f" WHERE span = %s AND at >= %s AND at < %s{condition} ORDER BY at, agent",
        [int(span), dialect.instant_text(since), dialect.instant_text(until), *params],
    ):
        at = dialect.instant(value)
        assert at is not None
        levels.append((at, Level(*columns)))
    return levels


def _read(at: datetime) -> list[Level]:
    moment, params = dialect.typed("instant", at)
    counts = {
        agent: (pending, in_flight, failed, dialect.instant(oldest))
        for agent, pending, in_flight, failed, oldest in dialect.fetch(
            "SELECT l.agent, sum(CASE WHEN l.state = 'pending' THEN 1 ELSE 0 END),"
            " sum(CASE WHEN l.state = 'processing' AND NOT l.is_deferred THEN 1 ELSE 0 END),"
            f" sum(CASE WHEN l.state = 'error' AND ({_IS_OPEN}) THEN 1 ELSE 0 END),"
            f" min(CASE WHEN l.state = 'pending' AND l.not_before <= {moment}"
            f" AND l.step_id NOT IN ({_PAUSED}) THEN l.not_before END)"
            " FROM workers_live l GROUP BY l.agent",
            params,
        )
    }
    flows = {
        agent: (window, Breaker(0, dialect.instant(opened), dialect.instant(until), forced))
        for agent, window, opened, until, forced in dialect.fetch(
            'SELECT agent, "window", opened_at, open_until, forced FROM workers_flow'
        )
    }
    levels = []
    for agent in sorted(counts.keys() | flows.keys()):
        pending, in_flight, failed, oldest = counts.get(agent, (0, 0, 0, None))
        window, breaker = flows.get(agent, (0, Breaker()))
        age = None if oldest is None else (at - oldest).total_seconds()
        standing = str(breaker.standing(at))
        levels.append(Level(agent, pending, in_flight, failed, window, age, standing))
    return levels


def _write(span: Span, at: datetime, levels: Sequence[Level]) -> None:
    rows = [
        {
            "agent": level.agent,
            "pending": level.pending,
            "in_flight": level.in_flight,
            "failed": level.failed,
            "window_size": level.window_size,
            "oldest_seconds": level.oldest_seconds,
            "breaker": BreakerState(level.breaker).value,
        }
        for level in levels
    ]
    when, params = dialect.typed("instant", at)
    dialect.execute(
        f"INSERT INTO desk_gauge (span, at, {_NAMES})"
        f" SELECT {int(span)}, {when}, {_NAMES} FROM {dialect.rows_as('v', _COLUMNS)}"
        # In key order, so that two writers cannot deadlock; "WHERE true" is for SQLite's parser.
        " WHERE true ORDER BY agent ON CONFLICT (span, at, agent) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name != "agent"),
        [*params, dialect.encode(rows)],
    )
