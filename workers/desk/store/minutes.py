"""Figures of minutes, rolled up from the journal, and of longer spans, summed up from those.

A minute is rolled up from the journal alone, so doing it twice writes the same row.  Its journal
rows are found by their ids, which rise with time except among concurrent transactions (``SLACK``):
the journal needs no index by time, which every write would pay for.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from workers.desk.rules import latency
from workers.desk.rules.minutes import (
    CLAIM_EVENTS,
    DEATHS,
    EVERY_PROCESS,
    LONGER,
    PROCESS_EVENTS,
    RELEASED,
    RESENT,
    Figures,
    begin,
    summed,
)
from workers.desk.states import Span
from workers.runtime.failpoints import durable
from workers.store import isolation
from workers.store.db import dialect

#: By id, a row may follow rows that are this much younger, or precede rows this much older.
SLACK = timedelta(seconds=60)
#: The search for bounds ends this close: reading so many more rows costs nothing.
NEAR_ROWS = 1024
_LENGTH = timedelta(seconds=Span.MINUTE)
_COLUMNS = {
    "agent": "text",
    "counts": "json",
    "events": "json",
    "calls": "json",
    "waits": "json",
    "workers": "int",
}
#: Counted beside results: the worker processes that took part.
_WORKERS = "workers"


def roll_up(minute: datetime) -> int:
    """Roll up the minute that begins at ``minute``; return the number of its agents.

    Two calls at once write the same.
    """
    figures = _read(minute)
    if figures:
        with durable("minutes.roll_up"):
            write(Span.MINUTE, minute, figures)
    return len(figures)


def sum_up(span: Span, at: datetime) -> int:
    """Sum up the minutes of the span that begins at ``at``; return the number of its agents."""
    end = at + timedelta(seconds=span)
    figures = summed(figures for _at, figures in of_span(Span.MINUTE, at, end))
    if figures:
        with durable("minutes.sum_up"):
            write(span, at, figures)
    return len(figures)


def sum_up_around(minutes: Iterable[datetime]) -> None:
    """Sum up every longer span around ``minutes``; a span under way, as far as it has come."""
    spans = {(span, begin(minute, span)) for minute in minutes for span in LONGER}
    for span, at in sorted(spans):
        sum_up(span, at)


def of_span(
    span: Span, since: datetime, until: datetime, agent: str | None = None
) -> list[tuple[datetime, Figures]]:
    """Return the figures of all spans that begin at ``since`` or later, and before ``until``.

    Each with its beginning; only those of ``agent``, if given.  Without rows that cannot be read.
    """
    condition, params = ("", []) if agent is None else (" AND agent = %s", [agent])
    rows = dialect.fetch(
        "SELECT id, at, agent, counts, events, calls, waits, workers FROM desk_minute"
        f" WHERE span = %s AND at >= %s AND at < %s{condition} ORDER BY at, agent",
        [int(span), dialect.instant_text(since), dialect.instant_text(until), *params],
    )
    alert = isolation.alerting("minute", "read")
    parts = isolation.apart(
        rows,
        lambda part: [_stored(*row) for row in part],
        lambda row, error: alert(row[0], error),
        name=lambda row: f"minute {row[0]}",
    )
    return [pair for pairs in parts for pair in pairs]


def _stored(_id: int, at: Any, agent: str, *documents: Any) -> tuple[datetime, Figures]:
    counts, events, calls, waits = (dialect.document(text) for text in documents[:4])
    return _instant(at), Figures(
        agent, _numbers(counts), _buckets(calls), _buckets(waits), documents[4], _numbers(events)
    )


def _instant(value: Any) -> datetime:
    at = dialect.instant(value)
    assert at is not None
    return at


def _numbers(document: dict[str, int]) -> dict[str, int]:
    return {name: int(count) for name, count in document.items()}


def _buckets(document: dict[str, int]) -> dict[int, int]:
    return {int(bucket): int(count) for bucket, count in document.items()}


def write(span: Span, at: datetime, figures: Sequence[Figures]) -> None:
    """Write the figures of a span, replacing those that are there."""
    rows = [
        {
            "agent": row.agent,
            "counts": row.counts,
            "events": row.events,
            "calls": {str(bucket): count for bucket, count in sorted(row.calls.items())},
            "waits": {str(bucket): count for bucket, count in sorted(row.waits.items())},
            "workers": row.workers,
        }
        for row in figures
    ]
    names = ", ".join(_COLUMNS)
    when, params = dialect.typed("instant", at)
    dialect.execute(
        f"INSERT INTO desk_minute (span, at, {names})"
        f" SELECT {int(span)}, {when}, {names} FROM {dialect.rows_as('v', _COLUMNS)}"
        # In key order, so that two writers cannot deadlock; "WHERE true" is for SQLite's parser.
        " WHERE true ORDER BY agent ON CONFLICT (span, at, agent) DO UPDATE SET "
        + ", ".join(f"{name} = excluded.{name}" for name in _COLUMNS if name != "agent"),
        [*params, dialect.encode(rows)],
    )


def _read(minute: datetime) -> list[Figures]:
    """Return the figures of a minute from the journal, by agent."""
    end = minute + _LENGTH
    first, last = _edge(minute - SLACK)[0], _edge(end + SLACK)[1]
    rows = dialect.fetch(
        _statement(), [first, last, dialect.instant_text(minute), dialect.instant_text(end)]
    )
    return _figures(rows)


def _statement() -> str:
    """Return the statement that counts what became of calls and of processes."""
    agent, started = dialect.text_in("r.detail", "agent"), dialect.text_in("r.detail", "started_at")
    until = (
        f"CASE WHEN r.event = 'expired' THEN {dialect.text_in('r.detail', 'complete_by')}"
        " ELSE CAST(r.at AS text) END"
    )
    # An answer from outside, or its absence, says nothing about the duration of the call.
    is_called = (
        f"{dialect.text_in('r.detail', 'answered')} IS NULL"
        f" AND COALESCE({dialect.text_in('r.detail', 'fault', 'code')}, '') <> 'unanswered'"
    )
    result = (
        "CASE r.event WHEN 'processed' THEN 'ok' WHEN 'failed' THEN 'transient'"
        " WHEN 'parked' THEN 'unavailable' WHEN 'expired' THEN 'expired'"
        # Rows of older versions have no kind.
        f" ELSE COALESCE({dialect.text_in('r.detail', 'fault', 'kind')}, 'permanent') END"
    )
    return f"""
WITH written AS MATERIALIZED (
    SELECT j.process_id, j.step_id, j.event, j.before, j.detail, j.at FROM workers_journal j
    WHERE j.id >= %s AND j.id < %s AND j.at >= %s AND j.at < %s AND (
        j.step_id IS NULL AND j.process_id IS NOT NULL
            AND j.event IN {PROCESS_EVENTS}
        OR j.step_id IS NOT NULL AND j.before = 'processing'
            AND j.event IN ('processed', 'failed', 'parked', 'expired', 'refused')
        OR j.step_id IS NOT NULL AND j.event IN ('lost', 'handed_back'))
), ended AS MATERIALIZED (
    SELECT COALESCE({agent}, '') AS agent, {result} AS result,
        {dialect.text_in("r.detail", "locked_by")} AS worker,
        CASE WHEN {is_called} THEN {dialect.seconds_between(started, until)} END AS call,
        {dialect.seconds_between(dialect.text_in("r.detail", "claimed_at"), started)} AS wait
    FROM written r
    WHERE r.step_id IS NOT NULL AND r.event NOT IN ('lost', 'handed_back')
        AND {dialect.text_in("r.detail", "by_hand")} IS NULL
), bucketed AS (
    SELECT e.agent, e.result, {dialect.count_reached("e.call", latency.BOUNDS)} AS call,
        {dialect.count_reached("e.wait", latency.BOUNDS)} AS wait
    FROM ended e
)
SELECT b.agent, b.result, b.call, b.wait, count(*) FROM bucketed b
GROUP BY b.agent, b.result, b.call, b.wait
UNION ALL SELECT e.agent, '{_WORKERS}', NULL, NULL, count(DISTINCT e.worker)
FROM ended e GROUP BY e.agent
UNION ALL SELECT '{EVERY_PROCESS}', m.move, NULL, NULL, count(*) FROM (
    SELECT CASE r.event WHEN 'submitted' THEN 'taken' WHEN 'error' THEN 'failed'
        ELSE 'ended' END AS move
    FROM written r WHERE r.step_id IS NULL
) m GROUP BY m.move
UNION ALL SELECT '{EVERY_PROCESS}', r.event || ' ' || p.workflow, NULL, NULL, count(*)
FROM written r JOIN workers_process p ON p.id = r.process_id
WHERE r.step_id IS NULL GROUP BY r.event, p.workflow
UNION ALL SELECT e.agent, e.what, NULL, NULL, count(*) FROM (
    SELECT COALESCE({agent}, '') AS agent, CASE r.event WHEN 'lost' THEN '{RESENT}'
        WHEN 'handed_back' THEN '{RELEASED}' WHEN 'expired' THEN '{DEATHS}' END AS what
    FROM written r WHERE r.event IN ('lost', 'handed_back')
        OR r.event = 'expired' AND {dialect.text_in("r.detail", "fault", "code")} = 'worker_died'
) e GROUP BY e.agent, e.what
"""


def _figures(rows: Iterable[tuple[Any, ...]]) -> list[Figures]:
    counts: dict[str, dict[str, int]] = {}
    events: dict[str, dict[str, int]] = {}
    calls: dict[str, dict[int, int]] = {}
    waits: dict[str, dict[int, int]] = {}
    for agent, name, call, wait, count in rows:
        is_event = name in CLAIM_EVENTS or " " in name
        by_name = counts.setdefault(agent, {})
        _add(events.setdefault(agent, {}) if is_event else by_name, name, count)
        for group, bucket in ((calls, call), (waits, wait)):
            if bucket is not None:
                _add(group.setdefault(agent, {}), bucket, count)
    return [
        Figures(
            agent,
            {name: count for name, count in by_name.items() if name != _WORKERS},
            calls.get(agent, {}),
            waits.get(agent, {}),
            by_name.get(_WORKERS, 0),
            events.get(agent, {}),
        )
        for agent, by_name in sorted(counts.items())
    ]


def _add(counts: dict[Any, int], name: Any, count: int) -> None:
    counts[name] = counts.get(name, 0) + count


def _edge(at: datetime) -> tuple[int, int]:
    """Return two ids near each other: of a row from before ``at``, and a higher one.

    Rows from the higher id on were written at ``at`` or later, but for ``SLACK``.
    """
    newest = _row("ORDER BY id DESC LIMIT 1")
    if newest is None or newest[1] < at:
        last = newest[0] if newest else 0
        return last, last + 1
    # Back from the newest in growing steps, because most requested minutes are near it.
    before, after, reach = 0, newest[0], NEAR_ROWS
    while not before and reach < newest[0]:
        row = _row_from(newest[0] - reach)
        if row[1] < at:
            before = row[0]
        else:
            after, reach = newest[0] - reach, 4 * reach
    while after - before > NEAR_ROWS:
        middle = (before + after) // 2
        row = _row_from(middle)
        if row[1] < at:
            before = row[0]
        else:
            after = middle
    return before, after


def _row_from(journal_id: int) -> tuple[int, datetime]:
    row = _row("WHERE id >= %s ORDER BY id LIMIT 1", journal_id)
    assert row is not None
    return row


def _row(clauses: str, *params: int) -> tuple[int, datetime] | None:
    rows = dialect.fetch(f"SELECT id, at FROM workers_journal {clauses}", params)
    at = dialect.instant(rows[0][1]) if rows else None
    return None if at is None else (rows[0][0], at)
