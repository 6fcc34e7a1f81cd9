"""Raise alerts for breakers that have been open for long."""

from datetime import datetime, timedelta

from workers.conf import sas
from workers.rules.rows import AlertCall
from workers.runtime import timestamps
from workers.runtime.failpoints import around
from workers.store import alerts
from workers.store.db import dialect
from workers.store.flow import last_answers


@around("open_breakers.alert_long_open")
def alert_long_open(now: datetime | None = None) -> int:
    """Raise an alert for each breaker that has long kept steps waiting; return how many."""
    at = dialect.read_clock(now)
    opened_before = at - timedelta(seconds=sas.breaker_alert_seconds)
    rows = dialect.fetch(
        "SELECT agent, opened_at FROM workers_flow WHERE opened_at < %s AND EXISTS (SELECT 1"
        " FROM workers_live l WHERE l.state = 'pending' AND l.agent = workers_flow.agent)"
        " ORDER BY agent",
        [dialect.instant_text(opened_before)],
    )
    answers = last_answers.of([agent for agent, _opened_at in rows])
    alerts.write(
        [
            AlertCall(
                cause=f"breaker_open:agent:{agent}",
                code="breaker_open",
                params={
                    "agent": agent,
                    "opened_at": timestamps.text_of(instant),
                    "reason": answers.get(agent, ""),
                },
                is_counted=False,
            )
            for agent, opened_at in rows
            if (instant := dialect.instant(opened_at)) is not None
        ],
        at,
    )
    return len(rows)
