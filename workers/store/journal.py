"""Append to the journal, always in the transaction of the recorded change."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from workers.rules.rows import Entry
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store.db import dialect

_COLUMNS = {
    "process_id": "id",
    "step_id": "id",
    "sequence": "int",
    "event": "text",
    "before": "text",
    "after": "text",
    "attempt": "int",
    "detail": "json",
}


def write(entries: Sequence[Entry], at: datetime) -> None:
    """Append ``entries`` in their order.

    An entry that moves a step or takes a sequence number is written with its step and process, in
    the same transaction, under conditions that hold only once.  Another repeated (step, attempt,
    event) violates a constraint and fails the transaction.
    """
    for actor, group in _by_actor(entries):
        dialect.execute(*_insert(actor, group, at, ""))


def write_once(entries: Sequence[Entry], at: datetime) -> int:
    """Append the entries whose (step, attempt, event) does not exist yet; return how many."""
    return sum(
        dialect.execute(*_insert(actor, group, at, " ON CONFLICT DO NOTHING"))
        for actor, group in _by_actor(entries)
    )


def _by_actor(entries: Sequence[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the entries grouped by actor; mostly there is only one."""
    for actor, group in groupby(entries, lambda entry: entry.actor):
        yield actor, list(group)


def _insert(
    actor: str, entries: Sequence[Entry], at: datetime, conflict: str
) -> tuple[str, list[Any]]:
    """Return the statement and its parameters; values that all rows share are sent once."""
    names = ", ".join(f'"{name}"' for name in _COLUMNS)
    by, by_params = dialect.typed("text", actor[:200])
    when, when_params = dialect.typed("instant", at)
    statement = (
        f"INSERT INTO workers_journal ({names}, actor, at)"
        # WHERE true: otherwise SQLite would parse ON as part of a join.
        f" SELECT {names}, {by}, {when} FROM {dialect.rows_as('v', _COLUMNS)} WHERE true{conflict}"
    )
    return statement, [*by_params, *when_params, dialect.encode([_row(entry) for entry in entries])]


def _row(entry: Entry) -> dict[str, Any]:
    """Return the columns of a row that are not null."""
    row = {
        "event": entry.event,
        "detail": entry.detail,
        "process_id": entry.process_id,
        "step_id": entry.step_id,
        "sequence": entry.sequence,
        "before": entry.before,
        "after": entry.after,
        "attempt": entry.attempt,
    }
    return {name: value for name, value in row.items() if value is not None}


def record_act(
    event: str,
    detail: Mapping[str, Any] | None = None,
    *,
    actor: str,
    process_id: int | None = None,
    now: datetime | None = None,
) -> None:
    """Journal what a person did, in the caller's transaction if there is one.

    ``actor`` is ``operator:NAME`` for a person: the audit shows actors with that prefix.
    Submitters are not told of it: the row has no sequence number.  Takes no lock.
    """
    storable_text.check_all(actor=actor)
    storable_text.check_value("detail", dict(detail or {}))
    values = {name: value for name, value in (detail or {}).items() if value not in ("", None)}
    with durable("journal.record_act"):
        entry = Entry(process_id=process_id, event=event, actor=actor, detail=values)
        write([entry], dialect.read_clock(now))
