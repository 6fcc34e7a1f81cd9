"""Insert processes with their steps: two statements for any number of processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from workers.models import Attribute, Process, Step
from workers.store.db import dialect
from workers.store.db.columns import columns_of

_PROCESS_COLUMNS = {
    name: columns_of(Process)[name]
    for name in (
        *("uid", "workflow", "version", "subject", "state", "input", "no_return", "sequence"),
        *("needs_decision", "lane", "turn", "deadline_at", "on_deadline", "renews", "editable"),
        *("has_on_end", "created_at", "submission_key", "key_use", "key_until", "group_id"),
        *("limit_values", "exclusive"),
    )
}
#: Columns of a step that differ by process, as SQL.  The last part of the key is the generation:
#: undoing the effect begins a new one.
_OWN_COLUMNS = {
    "process_id": "p.id",
    "turn": "p.turn",
    "idempotency_key": "p.stem || ':' || s.position || ':1'",
    **dict.fromkeys(("attempt", "failure_count", "unavailable_count"), "0"),
    **dict.fromkeys(("may_have_effect", "is_in_doubt"), "false"),
}


def processes(new: Sequence[Process]) -> None:
    """Insert processes and set the id of each.

    One with a submission key waits for a transaction that inserts the same use of the key, and has
    no id if that one commits.
    """
    if not new:
        return
    names = ", ".join(_PROCESS_COLUMNS)
    unless_used = ""
    if any(process.submission_key is not None for process in new):
        unless_used = " WHERE true ON CONFLICT (uid) DO NOTHING"
        # All in one order, so that no two wait for each other.
        new = sorted(new, key=lambda process: process.uid)
    rows = dialect.fetch(
        f"INSERT INTO workers_process ({names})"
        f" SELECT {names} FROM {dialect.rows_as('v', _PROCESS_COLUMNS)}{unless_used}"
        " RETURNING uid, id",
        [
            dialect.encode(
                [{name: getattr(process, name) for name in _PROCESS_COLUMNS} for process in new],
                ["input", "limit_values"],
            )
        ],
    )
    ids = {dialect.uuid(uid): row_id for uid, row_id in rows}
    for process in new:
        process.pk = ids.get(process.uid)
        process._state.adding, process._state.db = False, "default"


def steps(
    new: Sequence[Process],
    specs: Sequence[Mapping[str, Any]],
    limit_keys: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Insert the steps of processes; values that are the same in all are sent once.

    ``specs`` are the columns of the steps, the same in every process of the workflow.
    ``limit_keys`` are those of the steps that have one, by process and position.
    """
    own = {"id": "id", "turn": "instant", "stem": "text"}
    shared = {name: columns_of(Step)[name] for name in specs[0]}
    alike = ", ".join(f'"{name}"' for name in shared)
    picked = ", ".join(f's."{name}"' for name in shared)
    own_columns, source, params = _OWN_COLUMNS, "", []
    if limit_keys:
        own_columns = {**_OWN_COLUMNS, "limit_key": "k.limit_key"}
        kinds = {"id": "id", "position": "int", "limit_key": "text"}
        source = f" LEFT JOIN {dialect.rows_as('k', kinds)} ON k.id = p.id"
        source += " AND k.position = s.position"
        params = [dialect.encode(limit_keys)]
    owners = [{"id": process.pk, "turn": process.turn, "stem": process.uid.hex} for process in new]
    dialect.execute(
        f"INSERT INTO workers_step ({', '.join(own_columns)}, {alike})"
        f" SELECT {', '.join(own_columns.values())}, {picked}"
        f" FROM {dialect.rows_as('p', own)} CROSS JOIN {dialect.rows_as('s', shared)}{source}"
        " ORDER BY p.id, s.position",
        [
            dialect.encode(owners),
            dialect.encode(specs),
            *params,
        ],
    )


def attributes(rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert the attributes of new processes; without any, no statement is sent."""
    if not rows:
        return
    kinds = {name: columns_of(Attribute)[name] for name in rows[0]}
    names = ", ".join(kinds)
    dialect.execute(
        f"INSERT INTO workers_attribute ({names})"
        f" SELECT {names} FROM {dialect.rows_as('a', kinds)}",
        [dialect.encode(rows)],
    )
