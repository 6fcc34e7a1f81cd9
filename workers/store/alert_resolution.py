"""Close alerts whose cause has ended; the sweep checks the rows, whatever code ended it.

So no change of state has to know which alerts it ends, and settling replies costs nothing more.
Only the few unresolved alerts are read.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta

from workers.conf import sas
from workers.definitions.alert_kinds import alert_kind, alert_kinds
from workers.rules.two_persons import GOOD_FOR
from workers.runtime.failpoints import around
from workers.store import leases, live_workers
from workers.store.db import bulk_update, dialect

log = logging.getLogger(__name__)

#: Name of the lease row whose cursor is where the last round stopped.
ALERTS = "alerts"
#: How many alerts one round reads.
PORTION = 500
#: An overdue duty or an unknown definition is well once its alert was not raised for this long:
#: both are raised again every few seconds while they last.
QUIET_SECONDS = 120
#: Only a person can tell that the cause of alert ``a`` has ended.
_BY_HAND = "a.acknowledged_at IS NOT NULL"
_OVER = "p.finished_at IS NOT NULL"
#: Somebody, or the Scheduler, has dealt with the step.
_DEALT_WITH = f"{_OVER} OR p.outcome IS NOT NULL OR s.state <> 'error'"
_QUIET = "a.last_raised_at < c.quiet"
#: When the cause of an alert ``a`` has ended, by code: SQL about its process ``p`` and step ``s``,
#: if it has any, and the bounds ``c``.  Those of other codes close when somebody acknowledges them.
ENDED = {
    "process_error": f"{_DEALT_WITH} OR p.state <> 'error'",
    # In error it is no longer being undone: its failed undo step has an alert of its own.
    "process_compensating": f"{_OVER} OR p.state = 'error'",
    "undo_stuck": f"{_OVER} OR s.state <> 'error'",
    "decision_needed": _DEALT_WITH,
    "undo_requested": "NOT EXISTS (SELECT 1 FROM workers_undorequest r"
    " WHERE r.process_id = a.process_id AND r.state = 'waiting' AND r.sequence = p.sequence"
    " AND r.asked_at > c.good)",
    "answer_overdue": f"{_OVER} OR s.deferral IS NULL OR s.escalate_at IS NOT NULL",
    "deadline_passed": _OVER,
    # It stays skipped: moot only once it is done after all, or undone with the rest.
    "step_skipped": "p.state IN ('compensated', 'cancelled') OR s.state <> 'skipped'"
    f" OR {_BY_HAND}",
    "worker_vanished": "NOT EXISTS (SELECT 1 FROM workers_worker w"
    " WHERE a.cause = 'worker_vanished:' || w.run AND w.seen_at <= c.seen)",
    "queue_unserved": _QUIET,
    "duty_overdue": _QUIET,
    "breaker_open": "NOT EXISTS (SELECT 1 FROM workers_flow f WHERE f.opened_at IS NOT NULL"
    " AND a.cause = 'breaker_open:agent:' || f.agent)",
    "unknown_definition": f"{_OVER} OR s.state <> 'waiting' OR a.process_id IS NULL AND {_QUIET}",
    "on_end_failed": f"{_OVER} OR p.state = 'error'",
    "row_unusable": _QUIET,
    "commits_lost": "NOT EXISTS (SELECT 1 FROM workers_hold h WHERE h.kind = 'everything'"
    " AND h.ended_at IS NULL)",
    "foreign_messages": _QUIET,
    "schedule_failed": _QUIET,
}


def resolve_ended(now: datetime | None = None) -> int:
    """Close the next alerts whose cause has ended; return how many.

    Each call reads the next ``PORTION``, so it costs the same however many there are.  An alert
    that is raised again meanwhile stays open.
    """
    at = dialect.read_clock(now)
    cursor = leases.cursor(ALERTS)
    rows = dialect.fetch(_statement(), [*_bounds(at), cursor, PORTION])
    over = _ask_applications((row[0], *row[3:]) for row in rows)
    ended = [{"id": row[0], "seen": row[1], "at": at} for row in rows if over.get(row[0], row[2])]
    if ended:
        _close(ended)
    _set_cursor(cursor, rows[-1][0] if len(rows) == PORTION else 0, now)
    return len(ended)


def _ask_applications(alerts: Iterable[tuple[int, str, str]]) -> dict[int, bool]:
    """Return, for alerts whose kind has an ``ended`` function, whether their cause has ended.

    Called after the alerts were read, so that the answer closes none that is raised meanwhile.
    """
    by_code: dict[str, dict[str, int]] = defaultdict(dict)
    for alert_id, code, cause in alerts:
        if alert_kind(code).ended is not None:
            by_code[code][cause.removeprefix(f"{code}:")] = alert_id
    answers: dict[int, bool] = {}
    for code, ids in by_code.items():
        ask = alert_kind(code).ended
        assert ask is not None
        try:
            over = set(ask(ids.keys()))
        except Exception:
            # An error in an app's function must not keep other alerts open.
            log.exception("alerts_unknown", extra={"code": code})
            over = set()
        answers |= {alert_id: subject in over for subject, alert_id in ids.items()}
    return answers


def _statement() -> str:
    ended = ENDED | {kind.code: kind.ended_sql for kind in alert_kinds() if kind.ended_sql}
    cases = " ".join(f"WHEN '{code}' THEN ({condition})" for code, condition in ended.items())
    instant = "%s::timestamptz" if dialect.is_postgres() else "%s"
    return (
        f"SELECT a.id, a.last_raised_at, CASE a.code {cases} ELSE {_BY_HAND} END, a.code, a.cause"
        f" FROM (SELECT {instant} AS quiet, {instant} AS good, {instant} AS seen) c"
        " CROSS JOIN workers_alert a"
        " LEFT JOIN workers_process p ON p.id = a.process_id"
        " LEFT JOIN workers_step s ON s.id = a.step_id"
        " WHERE a.resolved_at IS NULL AND a.id > %s ORDER BY a.id LIMIT %s"
    )


def _bounds(at: datetime) -> list[object]:
    # The looks that raise both may be an interval or more apart.
    quiet = max(QUIET_SECONDS, 10 * max(sas.sweep_seconds, sas.poll_seconds))
    return [
        dialect.instant_text(at - timedelta(seconds=quiet)),
        dialect.instant_text(at - GOOD_FOR),
        dialect.instant_text(at - timedelta(seconds=live_workers.SEEN_SECONDS)),
    ]


@around("alert_resolution.close")
def _close(ended: list[dict[str, object]]) -> None:
    bulk_update.update(
        "workers_alert",
        {"id": "id", "seen": "instant", "at": "instant"},
        [{**row, "seen": dialect.instant(row["seen"])} for row in ended],
        "resolved_at = v.at, acknowledged_at = COALESCE(t.acknowledged_at, v.at)",
        "t.resolved_at IS NULL AND t.last_raised_at = v.seen",
    )


def _set_cursor(cursor: int, next_cursor: int, now: datetime | None) -> None:
    if next_cursor == cursor:
        return
    # Inserts the row if there is none.
    leases.is_due(ALERTS, 0, now)
    leases.set_cursor(ALERTS, next_cursor)
