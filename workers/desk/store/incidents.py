"""Gathers alerts into incidents: in the sweep, so that raising an alert writes nothing more.

Alerts without an incident are locked first, skipping those locked elsewhere, then the incidents in
key order.  Several sweeps at once do no harm: each row is judged again under its lock.
"""

import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

from workers.definitions import amounts
from workers.definitions.alert_kinds import IncidentKind
from workers.desk.rules.incidents import (
    SAME_OUTAGE_WITHIN,
    AlertFacts,
    Cause,
    IncidentRow,
    cause_of,
    is_quiet,
    named_after,
    refreshed,
)
from workers.desk.states import IncidentState, Span
from workers.desk.store import minutes
from workers.protocol.faults import FaultRecord
from workers.runtime.failpoints import durable
from workers.store import personal_data
from workers.store.db import bulk_update, dialect

log = logging.getLogger(__name__)

#: Alerts attached in one transaction.
PORTION = 500

#: Alerts that belong to no incident yet, with what tells their causes apart.
_UNCOLLECTED = (
    "SELECT a.id, a.last_raised_at, a.process_id, a.code, a.cause, a.params, a.message,"
    " p.subject, p.workflow, s.name, s.agent, s.fault"
    " FROM workers_alert a LEFT JOIN workers_process p ON p.id = a.process_id"
    " LEFT JOIN workers_step s ON s.id = a.step_id"
    " WHERE a.group_id IS NULL AND a.resolved_at IS NULL ORDER BY a.id LIMIT %s"
)
#: Number and worth of each incident's unresolved members: one pass of an index.
_MEMBERS = (
    "(SELECT a.group_id, count(*) AS members, sum(a.money) AS money FROM workers_alert a"
    " WHERE a.group_id IS NOT NULL AND a.resolved_at IS NULL GROUP BY a.group_id)"
)

#: Alerts of open incidents without a process, which are few: they change as more is known of the
#: cause.
_WITHOUT_PROCESS = (
    "SELECT t.id, t.key, t.params, a.code, a.cause, a.params, a.message FROM desk_incident t"
    " JOIN workers_alert a ON a.group_id = t.id AND a.resolved_at IS NULL"
    f" WHERE t.resolved_at IS NULL AND t.kind <> '{IncidentKind.FAILURE}'"
    " AND a.process_id IS NULL ORDER BY t.id, a.id"
)


def collect(now: datetime | None = None) -> int:
    """Attach the next alerts to the incidents of their causes; return how many were attached.

    A recently resolved incident is reopened; if there is none, or its outage is over, a new one is
    opened.
    """
    alerts = _uncollected()
    if not alerts:
        return 0
    at = dialect.read_clock(now)
    worth = amounts.amounts({alert.process_id for alert in alerts if alert.process_id is not None})
    with durable("incidents.collect"):
        # Skips alerts closed or pruned meanwhile, and those that are being raised just now.
        locked = {
            row[0]
            for row in dialect.fetch(
                f"SELECT t.id FROM workers_alert t WHERE {dialect.among('t.id')}"
                " AND t.group_id IS NULL AND t.resolved_at IS NULL ORDER BY t.id "
                + dialect.lock_rows("t", skip_locked=True),
                [dialect.id_list([alert.id for alert in alerts])],
            )
        }
        by_cause: dict[Cause, list[_Alert]] = {}
        for alert in alerts:
            if alert.id in locked:
                by_cause.setdefault(alert.cause, []).append(alert)
        for cause in sorted(by_cause, key=lambda cause: cause.key):
            _attach(cause, by_cause[cause], worth, at)
        _retire_older(sorted(locked), at)
    return len(locked)


@dataclass(frozen=True, slots=True)
class _Alert:
    """An alert that belongs to no incident yet."""

    id: int
    raised_at: datetime
    process_id: int | None
    cause: Cause


def _uncollected() -> list[_Alert]:
    alerts = []
    rows = dialect.fetch(_UNCOLLECTED, [PORTION])
    masks = personal_data.of_processes(row[2] for row in rows)
    for alert_id, raised_at, process_id, code, cause, params, message, *about in rows:
        subject, workflow, step, agent = (text or "" for text in about[:4])
        facts = AlertFacts(
            *(code, cause, dialect.document(params), message, subject, workflow, step, agent),
            FaultRecord.from_json(dialect.document(about[4])),
            masks[process_id],
        )
        at = dialect.instant(raised_at)
        assert at is not None
        alerts.append(_Alert(alert_id, at, process_id, _cause_of(facts)))
    return alerts


def _cause_of(facts: AlertFacts) -> Cause:
    try:
        return cause_of(facts)
    except Exception:
        # Parameters of a form that this code does not know must not hold up the other alerts.
        log.exception("alert_unreadable", extra={"cause": facts.cause})
        return cause_of(replace(facts, params=None))


def _attach(
    cause: Cause, alerts: Sequence[_Alert], worth: Mapping[int, Decimal], at: datetime
) -> None:
    """Attach locked alerts to the incident of their cause, and count them in."""
    incident_id = _lock_or_open(cause, min(alert.raised_at for alert in alerts), at)
    money = {alert.id: worth.get(alert.process_id or 0) for alert in alerts}
    bulk_update.update(
        "workers_alert",
        {"id": "id", "money": "decimal"},
        [
            {"id": alert.id, "money": None if money[alert.id] is None else str(money[alert.id])}
            for alert in alerts
        ],
        "group_id = v.incident, money = v.money",
        "t.group_id IS NULL",
        same={"incident": ("id", incident_id)},
        are_locked=True,
    )
    _count_in(
        incident_id,
        len(alerts),
        max(alert.raised_at for alert in alerts),
        [amount for amount in money.values() if amount is not None],
    )


def _lock_or_open(cause: Cause, since: datetime, at: datetime) -> int:
    """Return the incident of a cause, locked: the one there is, one reopened, or a new one."""
    incident_id = _lock(cause, since, at)
    if incident_id is None:
        key = _open(cause, since)
        # Another sweep may have opened it at the same time: lock whichever there is.
        rows = dialect.fetch(
            "SELECT t.id FROM desk_incident t WHERE t.key = %s AND t.resolved_at IS NULL "
            + dialect.lock_rows("t"),
            [key],
        )
        incident_id = int(rows[0][0])
    return incident_id


def _lock(cause: Cause, since: datetime, at: datetime) -> int | None:
    """Lock a cause's newest incident if it is still the same outage; reopen it if resolved."""
    rows = dialect.fetch(
        "SELECT t.id, t.resolved_at, t.last_at FROM desk_incident t"
        " WHERE (t.key = %s OR t.key LIKE %s)"
        " AND (t.resolved_at IS NULL OR t.resolved_at > %s)"
        " ORDER BY t.id DESC LIMIT 1 " + dialect.lock_rows("t"),
        [*_keys(cause), dialect.instant_text(at - SAME_OUTAGE_WITHIN)],
    )
    if not rows:
        return None
    incident_id, resolved_at, last_at = rows[0]
    if resolved_at is not None:
        dialect.execute(
            "UPDATE desk_incident SET state = %s, resolved_at = NULL, reopened = reopened + 1"
            " WHERE id = %s",
            [IncidentState.OPEN.value, incident_id],
        )
    elif _is_over(cause, dialect.instant(last_at), since):
        return None
    return int(incident_id)


def _is_over(cause: Cause, last_at: datetime | None, since: datetime) -> bool:
    """Say whether the service of an outage has worked since, so that later faults are another."""
    agent = cause.failing_agent
    if not agent or last_at is None or not is_quiet(last_at, since):
        return False
    # The last hour tells whether the service worked.
    begin = max(last_at + timedelta(minutes=1), since - timedelta(hours=1))
    figures = minutes.of_span(Span.MINUTE, begin, since, agent)
    return any(row.counts.get("ok") for _at, row in figures)


def _keys(cause: Cause) -> tuple[str, str]:
    """Return the key of a cause's incident, and the pattern of those of its further outages."""
    return cause.key, f"{cause.key}-%"


def _open(cause: Cause, since: datetime) -> str:
    """Open a cause's incident; return its key, which is numbered while others are open."""
    rows = dialect.fetch(
        "SELECT t.key FROM desk_incident t WHERE (t.key = %s OR t.key LIKE %s)"
        " AND t.resolved_at IS NULL",
        _keys(cause),
    )
    taken = {key for (key,) in rows}
    numbered = (f"{cause.key}-{number}" for number in itertools.count(2))
    key = next(key for key in itertools.chain([cause.key], numbered) if key not in taken)
    text = dialect.instant_text(since)
    params, document = dialect.typed("json", cause.params)
    dialect.execute(
        "INSERT INTO desk_incident (key, kind, code, params, severity, state, opened_at,"
        f" last_at, members, total, reopened) VALUES (%s, %s, %s, {params}, %s, %s, %s, %s,"
        " 0, 0, 0) ON CONFLICT (key) WHERE resolved_at IS NULL DO NOTHING",
        [
            key,
            cause.kind.value,
            cause.code,
            *document,
            cause.severity,
            IncidentState.OPEN.value,
            text,
            text,
        ],
    )
    return key


def _count_in(incident_id: int, count: int, newest: datetime, worth: Sequence[Decimal]) -> None:
    """Add new alerts to the counts of their locked incident; ``refresh`` counts anew."""
    text = dialect.instant_text(newest)
    added, params = ("", [])
    if worth:
        added, params = ", money = COALESCE(money, 0) + %s", [str(sum(worth))]
    dialect.execute(
        "UPDATE desk_incident SET members = members + %s, total = total + %s,"
        f" last_at = CASE WHEN last_at < %s THEN %s ELSE last_at END{added} WHERE id = %s",
        [count, count, text, text, *params, incident_id],
    )


def _retire_older(alert_ids: Sequence[int], at: datetime) -> None:
    """Resolve older, acknowledged alerts of causes that were raised anew."""
    if not alert_ids:
        return
    text = dialect.instant_text(at)
    dialect.execute(
        "UPDATE workers_alert SET resolved_at = %s WHERE resolved_at IS NULL"
        " AND acknowledged_at IS NOT NULL AND EXISTS (SELECT 1 FROM workers_alert n WHERE"
        f" {dialect.among('n.id')} AND n.group_id = workers_alert.group_id"
        " AND n.cause = workers_alert.cause AND n.id > workers_alert.id)",
        [text, dialect.id_list(alert_ids)],
    )


def refresh(now: datetime | None = None) -> int:
    """Correct the counts of open incidents, resolve those without members; return how many changed.

    Opens incidents again whose snooze is over, and gives each the parameters of its newest alert.
    Costs two statements while nothing changes.
    """
    at = dialect.read_clock(now)
    moving = [row.id for row, after in _judged("t.resolved_at IS NULL", [], at) if row != after]
    new_params = _new_params()
    if not moving and not new_params:
        return 0
    with durable("incidents.refresh"):
        locked = dialect.fetch(
            f"SELECT t.id FROM desk_incident t WHERE {dialect.among('t.id')}"
            " AND t.resolved_at IS NULL ORDER BY t.key " + dialect.lock_rows("t", skip_locked=True),
            [dialect.id_list([*moving, *new_params])],
        )
        # Counted by a statement after the lock, which is held while alerts are attached.
        which, ids = dialect.among("t.id"), [dialect.id_list([row[0] for row in locked])]
        changed = [after for row, after in _judged(which, ids, at) if row != after]
        for row in changed:
            _write(row)
        for (incident_id,) in locked:
            if incident_id in new_params:
                _set_params(incident_id, new_params[incident_id])
    return len(changed)


def _new_params() -> dict[int, dict[str, Any]]:
    """Return the newest alerts' parameters by incident, where the incident has others."""
    by_incident = {}
    for (incident_id, key, before), rows in groupby(
        dialect.fetch(_WITHOUT_PROCESS), lambda row: row[:3]
    ):
        causes = [
            _cause_of(AlertFacts(code, cause, dialect.document(params), message))
            for *_, code, cause, params, message in rows
        ]
        params = named_after(causes[-1].params, [cause.params["about"] for cause in causes])
        # The cause is another one where only the text tells causes apart.
        if causes[-1].key == key and params != dialect.document(before):
            by_incident[incident_id] = params
    return by_incident


def _set_params(incident_id: int, params: Mapping[str, Any]) -> None:
    value, document = dialect.typed("json", params)
    dialect.execute(
        f"UPDATE desk_incident SET params = {value} WHERE id = %s", [*document, incident_id]
    )


def _judged(
    which: str, params: Sequence[Any], at: datetime
) -> list[tuple[IncidentRow, IncidentRow]]:
    """Return incidents before and after a refresh."""
    pairs = []
    for incident_id, state, members, money, until, count, worth in dialect.fetch(
        "SELECT t.id, t.state, t.members, t.money, t.snooze_until, COALESCE(m.members, 0), m.money"
        f" FROM desk_incident t LEFT JOIN {_MEMBERS} m ON m.group_id = t.id"
        f" WHERE {which} ORDER BY t.id",
        params,
    ):
        row = IncidentRow(incident_id, state, members, _money(money), dialect.instant(until))
        pairs.append((row, refreshed(row, count, _money(worth), at)))
    return pairs


def _money(value: Any) -> Decimal | None:
    # SQLite adds up floating point numbers.
    return None if value is None else Decimal(str(value)).quantize(Decimal("0.01"))


def _write(row: IncidentRow) -> None:
    until = None if row.snooze_until is None else dialect.instant_text(row.snooze_until)
    ended = None if row.resolved_at is None else dialect.instant_text(row.resolved_at)
    dialect.execute(
        "UPDATE desk_incident SET state = %s, members = %s, money = %s, snooze_until = %s,"
        " resolved_at = %s WHERE id = %s",
        [
            *(str(row.state), row.members),
            *(None if row.money is None else str(row.money), until, ended, row.id),
        ],
    )
