"""The identity of this installation: the one row that ``migrate`` inserts."""

from datetime import datetime
from uuid import UUID, uuid4

from workers.runtime.failpoints import around
from workers.store.db import dialect


@around("installation.ensure")
def ensure(now: datetime | None = None) -> bool:
    """Insert the row unless there is one.  False: there was one."""
    row_id, params = dialect.typed("uuid", uuid4())
    instant, at = dialect.typed("instant", dialect.read_clock(now))
    return (
        dialect.execute(
            "INSERT INTO workers_installation (id, made_at, place, is_synchronous)"
            f" SELECT {row_id}, {instant}, '', %s"
            " WHERE NOT EXISTS (SELECT 1 FROM workers_installation)",
            [*params, *at, False],
        )
        == 1
    )


def own_id() -> UUID | None:
    """Return this installation's id; None: `migrate` has not inserted it yet."""
    rows = dialect.fetch("SELECT id FROM workers_installation ORDER BY made_at, id LIMIT 1")
    return dialect.uuid(rows[0][0]) if rows else None
