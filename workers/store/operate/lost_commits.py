"""A database that may have lost commits says so: claiming holds until somebody has looked.

A standby that lagged and was promoted, a restore and a copy lack what the rows showed before:
calls were made of which nothing is known any more.  PostgreSQL tells by its timeline, by its
server's identifier and by the database's number there; SQLite has nothing to tell.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from workers.exceptions import StateError
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.store.db import dialect
from workers.store.flow import holds

#: Who holds claims, in the hold, the journal and the alert.
ACTOR = "commit guard"
_REASONS = {
    "timeline": "A standby was promoted, and commits may be lost.",
    "moved": "The database was restored, or is a copy: commits may be lost.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is: its server and number, its timeline, and how commits are confirmed."""

    place: str
    timeline: int
    is_synchronous: bool


def look(now: datetime | None = None) -> str | None:
    """Compare where the database is with where it was; hold claims where commits may be lost.

    Return why they are held since this look: ``timeline`` or ``moved``; None: all is as it was.
    One that confirmed every commit on a standby lost none by a promotion.  A database that moved
    has another id from then on: what its former self sent is not its own.
    """
    here = _here()
    known = here and dialect.fetch(
        "SELECT id, place, timeline, is_synchronous FROM workers_installation"
        " ORDER BY made_at, id LIMIT 1"
    )
    if here is None or not known:
        return None
    row_id, before = known[0][0], Place(known[0][1], known[0][2] or 0, bool(known[0][3]))
    if before == here:
        return None
    why = None
    if before.place and before.place != here.place:
        why = "moved"
    elif before.place and before.timeline != here.timeline and not before.is_synchronous:
        why = "timeline"
    with durable("lost_commits.look"):
        at = dialect.read_clock(now)
        # If several look at once, one sees the change.
        if _keep(row_id, before, here, at, is_new=why == "moved") and why is not None:
            _hold(why, before, here, at)
            return why
    return None


def _keep(row_id: Any, before: Place, here: Place, at: datetime, *, is_new: bool) -> bool:
    own_id, params = dialect.typed("uuid", uuid4() if is_new else dialect.uuid(row_id))
    return (
        dialect.execute(
            f"UPDATE workers_installation SET id = {own_id}, place = %s, timeline = %s,"
            " is_synchronous = %s, looked_at = %s"
            " WHERE id = %s AND place = %s AND (place = '' OR timeline = %s)",
            [
                *(*params, here.place, here.timeline, here.is_synchronous),
                *(dialect.instant_text(at), row_id, before.place, before.timeline),
            ],
        )
        == 1
    )


def _here() -> Place | None:
    """Return where the database is; None: SQLite does not say."""
    if not dialect.is_postgres():
        return None
    ((system, number, wal, standbys, commit),) = dialect.fetch(
        "SELECT (SELECT system_identifier FROM pg_control_system()),"
        " (SELECT oid FROM pg_database WHERE datname = current_database()),"
        " pg_walfile_name(pg_current_wal_lsn()), current_setting('synchronous_standby_names'),"
        " current_setting('synchronous_commit')"
    )
    is_synchronous = bool(standbys) and commit not in ("off", "local")
    # The timeline is the beginning of a WAL file's name, at once after a promotion.
    return Place(f"{system}:{number}", int(wal[:8], 16), is_synchronous)


def _hold(why: str, before: Place, here: Place, at: datetime) -> None:
    if ("everything", "") not in holds.current():
        holds.hold("everything", actor=ACTOR, reason=_REASONS[why], now=at)
    params = {"says": [why, "held"], "before": before.timeline, "after": here.timeline}
    cause = f"commits_lost:{here.place}:{here.timeline}"
    alerts.write([AlertCall(cause, "commits_lost", params)], at)


def lift(actor: str, reason: str, now: datetime | None = None) -> bool:
    """Lift the hold of this guard, once what may have happened is in doubt.  False: none is."""
    held = dialect.fetch(
        "SELECT 1 FROM workers_hold WHERE kind = 'everything' AND ended_at IS NULL"
        " AND began_by = %s",
        [ACTOR],
    )
    if not held:
        return False
    try:
        holds.lift("everything", actor=actor, reason=reason, now=now)
    except StateError:
        # Somebody else has.
        return False
    return True
