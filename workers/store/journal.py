"""Appending to the journal, always in the transaction of the change it tells of."""

from collections.abc import Sequence
from datetime import datetime

from workers.rows import Entry
from workers.store import sql

_COLUMNS = {
    "process_id": "id",
    "step_id": "id",
    "sequence": "int",
    "event": "text",
    "before": "text",
    "after": "text",
    "attempt": "int",
    "actor": "text",
    "detail": "json",
    "at": "instant",
}


def write(entries: Sequence[Entry], at: datetime) -> None:
    """Append ``entries`` in their order.

    A repeated (step, attempt, event) violates a constraint and fails the transaction: no
    change happens twice to one attempt.
    """
    if entries:
        sql.execute(_insert(""), [sql.encode(_rows(entries, at))])


def write_once(entries: Sequence[Entry], at: datetime) -> int:
    """Append the entries whose (step, attempt, event) is not there yet; return how many."""
    if not entries:
        return 0
    return sql.execute(_insert(" ON CONFLICT DO NOTHING"), [sql.encode(_rows(entries, at))])


def _insert(conflict: str) -> str:
    names = ", ".join(f'"{name}"' for name in _COLUMNS)
    # WHERE true: SQLite would else read ON as the beginning of a join.
    return (
        f"INSERT INTO workers_journal ({names}) SELECT {names} FROM {sql.rows_as('v', _COLUMNS)}"
        f" WHERE true{conflict}"
    )


def _rows(entries: Sequence[Entry], at: datetime) -> list[dict]:
    return [
        {
            "process_id": entry.process_id,
            "step_id": entry.step_id,
            "sequence": entry.sequence,
            "event": entry.event,
            "before": entry.before,
            "after": entry.after,
            "attempt": entry.attempt,
            "actor": entry.actor[:200],
            "detail": entry.detail,
            "at": at,
        }
        for entry in entries
    ]
