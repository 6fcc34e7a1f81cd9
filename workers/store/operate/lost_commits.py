"""Hold all claims if the database may have lost commits, until an operator has looked.

A standby that lagged and was promoted, a restore and a copy lack earlier commits: calls were made
of which there is no trace.  PostgreSQL shows this by its timeline, its server's identifier and the
database's number there; SQLite cannot show it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from workers.exceptions import StateError
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.store.db import dialect, sequences
from workers.store.flow import holds

#: The actor in the hold, the journal and the alert.
ACTOR = "commit guard"
_REASONS = {
    "timeline": "A standby was promoted, and commits may be lost.",
    "moved": "The database was restored, or is a copy: commits may be lost.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A database's identity: its server and number, its timeline, how it confirms commits."""

    place: str
    timeline: int
    is_synchronous: bool


def look(now: datetime | None = None, *, is_whole: bool = False) -> str | None:
    """Compare the database's identity with the stored one; hold claims if commits may be lost.

    ``is_whole``: an operator says that none are, so the identity is kept, and nothing is held.
    Returns why they are held since this call: ``timeline`` or ``moved``; None: nothing changed.  A
    database that confirmed every commit on a standby loses none by a promotion.  A database that
    moved gets a new id, so that messages of the original are not taken for its own.
    """
    current = _current_place()
    rows = current and dialect.fetch(
        "SELECT id, place, timeline, is_synchronous FROM workers_installation"
        " ORDER BY made_at, id LIMIT 1"
    )
    if current is None or not rows:
        return None
    row_id, stored = rows[0][0], Place(rows[0][1], rows[0][2] or 0, bool(rows[0][3]))
    if stored == current:
        return None
    reason = None
    if is_whole:
        pass
    elif stored.place and stored.place != current.place:
        reason = "moved"
    elif stored.place and stored.timeline != current.timeline and not stored.is_synchronous:
        reason = "timeline"
    with durable("lost_commits.look"):
        at = dialect.read_clock(now)
        # One of several concurrent calls sees the change.
        if _keep(row_id, stored, current, at, is_new=reason == "moved") and reason is not None:
            _hold(reason, stored, current, at)
            sequences.skip()
            return reason
    return None


def _keep(row_id: Any, stored: Place, current: Place, at: datetime, *, is_new: bool) -> bool:
    own_id, params = dialect.typed("uuid", uuid4() if is_new else dialect.uuid(row_id))
    return (
        dialect.execute(
            f"UPDATE workers_installation SET id = {own_id}, place = %s, timeline = %s,"
            " is_synchronous = %s, looked_at = %s"
            " WHERE id = %s AND place = %s AND (place = '' OR timeline = %s)",
            [
                *(*params, current.place, current.timeline, current.is_synchronous),
                *(dialect.instant_text(at), row_id, stored.place, stored.timeline),
            ],
        )
        == 1
    )


def _current_place() -> Place | None:
    """Return the database's identity; None: SQLite has none."""
    if not dialect.is_postgres():
        return None
    ((system, number, wal, standbys, commit),) = dialect.fetch(
        "SELECT (SELECT system_identifier FROM pg_control_system()),"
        " (SELECT oid FROM pg_database WHERE datname = current_database()),"
        " pg_walfile_name(pg_current_wal_lsn()), current_setting('synchronous_standby_names'),"
        " current_setting('synchronous_commit')"
    )
    is_synchronous = bool(standbys) and commit not in ("off", "local")
    # A WAL file's name begins with the timeline, immediately after a promotion.
    return Place(f"{system}:{number}", int(wal[:8], 16), is_synchronous)


def _hold(reason: str, stored: Place, current: Place, at: datetime) -> None:
    if ("everything", "") not in holds.current():
        holds.hold("everything", actor=ACTOR, reason=_REASONS[reason], now=at)
    params = {"says": [reason, "held"], "before": stored.timeline, "after": current.timeline}
    cause = f"commits_lost:{current.place}:{current.timeline}"
    alerts.write([AlertCall(cause, "commits_lost", params)], at)


def accept(actor: str, reason: str, now: datetime | None = None, *, is_whole: bool = False) -> bool:
    """Keep the database's identity as it is now, and lift this guard's hold.  False: there is none.

    Otherwise the first worker would find that the database moved, and hold claims again.
    """
    with durable("lost_commits.accept"):
        look(now, is_whole=is_whole)
        return lift(actor, reason, now)


def lift(actor: str, reason: str, now: datetime | None = None) -> bool:
    """Lift this guard's hold, after the steps were marked as in doubt.  False: there is none."""
    rows = dialect.fetch(
        "SELECT 1 FROM workers_hold WHERE kind = 'everything' AND ended_at IS NULL"
        " AND began_by = %s",
        [ACTOR],
    )
    if not rows:
        return False
    try:
        holds.lift("everything", actor=actor, reason=reason, now=now)
    except StateError:
        # Another caller has lifted it.
        return False
    return True
