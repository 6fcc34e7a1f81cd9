"""Commands of operators on an incident: each is one transaction with its journal row.

The incident's row is locked first, then its alerts; the sweep locks no alert of an incident before
the incident itself.  A command that comes too late changes nothing and returns ``False``.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from workers.desk.states import IncidentState
from workers.exceptions import StateError
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect

LONGEST_SNOOZE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class _Row:
    id: int
    key: str
    state: str
    assignee_id: int | None

    @property
    def is_resolved(self) -> bool:
        return self.state == IncidentState.RESOLVED


def acknowledge(
    incident_id: int,
    user_id: int,
    *,
    actor: str,
    comment: str = "",
    now: datetime | None = None,
) -> bool:
    """Take an incident, and acknowledge its alerts.  False: somebody has taken or resolved it."""
    storable_text.check_all(actor=actor, comment=comment)
    with durable("incident_commands.acknowledge"):
        row = _lock(incident_id)
        if row is None or row.state in (IncidentState.ACKNOWLEDGED, IncidentState.RESOLVED):
            return False
        at = dialect.read_clock(now)
        _set(row, state=IncidentState.ACKNOWLEDGED, assignee_id=user_id, snooze_until=None)
        _acknowledge_alerts(row, user_id, comment, at)
        _note("incident_taken", row, actor, at, reason=comment)
    return True


def assign(
    incident_id: int,
    assignee_id: int | None,
    *,
    actor: str,
    reason: str = "",
    now: datetime | None = None,
) -> bool:
    """Assign an incident; None: to nobody.  False: it is assigned so already, or resolved."""
    storable_text.check_all(actor=actor, reason=reason)
    with durable("incident_commands.assign"):
        row = _lock(incident_id)
        if row is None or row.is_resolved or row.assignee_id == assignee_id:
            return False
        _set(row, assignee_id=assignee_id)
        change = [row.assignee_id, assignee_id]
        _note(
            "incident_assigned", row, actor, dialect.read_clock(now), reason=reason, assignee=change
        )
    return True


def snooze(
    incident_id: int,
    until: datetime,
    *,
    actor: str,
    reason: str = "",
    now: datetime | None = None,
) -> bool:
    """Snooze an incident until an instant, when it opens again.  False: it is resolved.

    Its members are still counted.  Raises ``StateError`` for an instant in the past, or more than
    30 days ahead.
    """
    storable_text.check_all(actor=actor, reason=reason)
    with durable("incident_commands.snooze"):
        at = dialect.read_clock(now)
        if not at < until <= at + LONGEST_SNOOZE:
            raise StateError(
                f"The end of a snooze must be within {LONGEST_SNOOZE.days} days from now,"
                f" got {until:%Y-%m-%d %H:%M} UTC. Choose another."
            )
        row = _lock(incident_id)
        if row is None or row.is_resolved:
            return False
        text = dialect.instant_text(until)
        _set(row, state=IncidentState.SNOOZED, snooze_until=text)
        _note("incident_snoozed", row, actor, at, reason=reason, until=until.isoformat())
    return True


def resolve(
    incident_id: int,
    user_id: int,
    *,
    actor: str,
    reason: str = "",
    now: datetime | None = None,
) -> bool:
    """Resolve an incident whatever its cause does, and acknowledge its alerts.

    It is reopened when one of its alerts is raised again.  False: it is resolved already.
    """
    storable_text.check_all(actor=actor, reason=reason)
    with durable("incident_commands.resolve"):
        row = _lock(incident_id)
        if row is None or row.is_resolved:
            return False
        at = dialect.read_clock(now)
        text = dialect.instant_text(at)
        columns = {"snooze_until": None, "resolved_at": text, "members": 0, "money": None}
        _set(row, state=IncidentState.RESOLVED, **columns)
        _acknowledge_alerts(row, user_id, reason, at)
        _note("incident_resolved", row, actor, at, reason=reason)
    return True


def _lock(incident_id: int) -> _Row | None:
    rows = dialect.fetch(
        "SELECT t.id, t.key, t.state, t.assignee_id FROM desk_incident t WHERE t.id = %s "
        + dialect.lock_rows("t"),
        [incident_id],
    )
    return _Row(*rows[0]) if rows else None


def _set(row: _Row, **columns: Any) -> None:
    values = [
        value.value if isinstance(value, IncidentState) else value for value in columns.values()
    ]
    assigned = ", ".join(f"{name} = %s" for name in columns)
    dialect.execute(f"UPDATE desk_incident SET {assigned} WHERE id = %s", [*values, row.id])


def _acknowledge_alerts(row: _Row, user_id: int, comment: str, at: datetime) -> None:
    # In key order, as wherever several alerts are locked.
    locked_ids = (
        "SELECT t.id FROM workers_alert t WHERE t.group_id = %s AND t.acknowledged_at IS NULL"
        f" ORDER BY t.id {dialect.lock_rows('t')}"
    )
    dialect.execute(
        "UPDATE workers_alert SET acknowledged_at = %s, acknowledged_by_id = %s, comment = %s"
        f" WHERE id IN ({locked_ids})",
        [dialect.instant_text(at), user_id, comment, row.id],
    )


def _note(event: str, row: _Row, actor: str, at: datetime, **detail: Any) -> None:
    extra = {name: value for name, value in detail.items() if value not in ("", None)}
    entry = Entry(
        process_id=None,
        event=event,
        actor=actor,
        detail={"incident": row.key, "id": row.id, **extra},
    )
    journal.write([entry], at)
