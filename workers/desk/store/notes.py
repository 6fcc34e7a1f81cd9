"""Notes of operators on incidents and processes: each one transaction with its journal row."""

from datetime import datetime

from workers.exceptions import StateError
from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import journal
from workers.store.db import dialect

LONGEST_NOTE = 5000


def write_on_incident(
    incident_id: int, author_id: int, text: str, *, actor: str, now: datetime | None = None
) -> bool:
    """Write a note on an incident, resolved or not.  False: there is no such incident."""
    _refuse_unless_writable(text, actor)
    with durable("notes.write_on_incident"):
        # Locked, so that it is not pruned meanwhile.
        rows = dialect.fetch(
            "SELECT t.key FROM desk_incident t WHERE t.id = %s " + dialect.lock_rows("t"),
            [incident_id],
        )
        if not rows:
            return False
        at = dialect.read_clock(now)
        _insert("incident_id", incident_id, author_id, text, at)
        detail = {"incident": rows[0][0], "id": incident_id}
        journal.write([Entry(None, "incident_noted", actor, detail=detail)], at)
    return True


def write_on_process(
    process_id: int, author_id: int, text: str, *, actor: str, now: datetime | None = None
) -> bool:
    """Write a note on a process, ended or not.  False: there is no such process.

    Does not lock the process: nothing of it changes, and its submitter is not told.
    """
    _refuse_unless_writable(text, actor)
    with durable("notes.write_on_process"):
        if not dialect.fetch("SELECT 1 FROM workers_process WHERE id = %s", [process_id]):
            return False
        at = dialect.read_clock(now)
        _insert("process_id", process_id, author_id, text, at)
        journal.write([Entry(process_id, "noted", actor)], at)
    return True


def _refuse_unless_writable(text: str, actor: str) -> None:
    storable_text.check_all(actor=actor, text=text)
    if not 0 < len(text) <= LONGEST_NOTE:
        raise StateError(f"A note must have 1 to {LONGEST_NOTE} characters, got {len(text)}.")


def _insert(column: str, key: int, author_id: int, text: str, at: datetime) -> None:
    dialect.execute(
        f"INSERT INTO desk_note ({column}, author_id, text, at) VALUES (%s, %s, %s, %s)",
        [key, author_id, text, dialect.instant_text(at)],
    )
