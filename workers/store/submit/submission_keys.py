"""The last process of each submission key, and the ids of new processes.

No row says that a key is taken: the ``n``-th use of a key is the process whose id is made from the
key and ``n``, and ids are unique.  So of two submissions that see the same last use one inserts
its process, and the other waits for that commit and finds it.  After a restore that has lost a
process, the same submission gets the same id: services see the idempotency keys of the calls that
they have answered, and nothing happens twice.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from workers.models import Process
from workers.rules.rows import NewProcess
from workers.store.db import dialect
from workers.store.db.columns import columns_of

#: What is read of the process that holds a key; the rest is read when it is asked for.
COLUMNS = (
    *("id", "uid", "workflow", "version", "subject", "state", "submission_key", "key_use"),
    *("key_until", "created_at", "finished_at"),
)


#: This installation's id, which ``installation.own_id`` reads alone.
_PLACE = "(SELECT i.id FROM workers_installation i ORDER BY i.made_at, i.id LIMIT 1)"


def last(
    workflow: str, requests: Sequence[NewProcess]
) -> tuple[UUID | None, dict[str | None, Process]]:
    """Return this installation's id, and the process of the last use of each key, by key.

    A key is that of a workflow, of any version.  Without keys nothing is read.
    """
    keys = [{"key": key} for request in requests if (key := request.submission_key) is not None]
    if not keys:
        return None, {}
    # The order by a column of the index alone keeps the planner from reading the newest processes.
    newest = (
        "SELECT q.id FROM workers_process q WHERE q.workflow = %s AND q.submission_key = k.key"
        " ORDER BY q.key_use DESC LIMIT 1"
    )
    query = f"SELECT ({newest}) FROM {dialect.rows_as('k', {'key': 'text'})}"
    place, processes = _read("p.id", query, [workflow, dialect.encode(keys)])
    return place, {process.submission_key: process for process in processes}


def winners(lost: Sequence[Process]) -> dict[str | None, Process]:
    """Return the processes that were inserted first with the ids of these, by key.

    Also those whose keys were erased since.
    """
    if not lost:
        return {}
    keys = {process.uid: process.submission_key for process in lost}
    query = f"SELECT k.uid FROM {dialect.rows_as('k', {'uid': 'uuid'})}"
    _, processes = _read("p.uid", query, [dialect.encode([{"uid": uid} for uid in keys])])
    return {keys[process.uid]: process for process in processes}


def _read(column: str, query: str, params: Sequence[Any]) -> tuple[UUID | None, list[Process]]:
    columns = ", ".join(f"p.{name}" for name in COLUMNS)
    rows = dialect.fetch(
        f"SELECT {_PLACE}, {columns} FROM (SELECT 1 AS one) o"
        f" LEFT JOIN workers_process p ON {dialect.among_found(column, query)}",
        params,
    )
    convert: dict[str, Callable[[Any], Any]] = {"uuid": dialect.uuid, "instant": dialect.instant}
    fixes = [convert.get(columns_of(Process)[name], lambda value: value) for name in COLUMNS]
    processes = [
        Process.from_db("default", COLUMNS, [fix(v) for fix, v in zip(fixes, row[1:], strict=True)])
        for row in rows
        if row[1] is not None
    ]
    return dialect.uuid(rows[0][0]), processes


def new_id(place: UUID | None, workflow: str, key: str | None, use: int) -> UUID:
    """Return the id of the process of a use of a key; without one, ids are in the order of time."""
    if key is None:
        return uuid7()
    # Another installation may use the same submission keys at the same services.
    text = f"{place or ''} {use} {workflow} {key}"
    number = int.from_bytes(sha256(text.encode()).digest()[:16])
    # Version 8, whose bits mean what its maker says (RFC 9562).
    number = number & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62
    return UUID(int=number)
