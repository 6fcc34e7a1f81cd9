"""Work on many rows at once, so that one that nobody can read or write holds up no other."""

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import connection, transaction

from workers.exceptions import AWAY, in_a_line
from workers.rules.rows import AlertCall
from workers.runtime.failpoints import durable
from workers.runtime.soft_limit import SOFT_LIMIT
from workers.store import alerts
from workers.store.db import dialect

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
#: Says something about the whole installation or about this call, and nothing about a row.
_OF_ALL = (*AWAY, SOFT_LIMIT)
#: How long a row that cannot be used is left out where only the first rows are taken.
REST_SECONDS = 60.0


def apart(
    rows: Sequence[T],
    work: Callable[[Sequence[T]], R],
    leave: Callable[[T, Exception], object],
    *,
    name: Callable[[T], str] = str,
) -> list[R]:
    """Do ``work`` on all rows at once; if it raises, on each half of them by itself, and so on.

    A row with which it raises alone is given to ``leave``, and the others go on.  ``name`` says
    which row that is in the log, where nothing of what is in it may stand.  Returns the results.
     ``work`` must have done nothing when it raises: it is one transaction.  Raises if the
    database is away.
    """
    if not rows:
        return []
    try:
        return [work(rows)]
    except _OF_ALL:
        raise
    except Exception as error:
        if len(rows) == 1:
            log.exception("row_unusable", extra={"row": name(rows[0])})
            with durable("isolation.leave"):
                leave(rows[0], error)
            return []
    middle = len(rows) // 2
    return [
        *apart(rows[:middle], work, leave, name=name),
        *apart(rows[middle:], work, leave, name=name),
    ]


def deleted_apart(
    ids: Sequence[int],
    delete: Callable[[Sequence[int]], R],
    leave: Callable[[int, Exception], object],
) -> list[R]:
    """Do ``delete`` on rows as ``apart`` does, within an open transaction.

    A row to which a table outside Django still refers is found here, and not at the COMMIT, where
    it would take all the others along.
    """

    def delete_part(part: Sequence[int]) -> R:
        with transaction.atomic():
            result = delete(part)
            if dialect.is_postgres():
                connection.check_constraints()
        return result

    return apart(ids, delete_part, leave)


def alerting(kind: str, duty: str, now: datetime | None = None) -> Callable[[Any, Exception], None]:
    """Return a ``leave`` that raises one alert, which names the row and what cannot be done to it.

    ``kind`` is what the rows are, such as ``process`` or ``step``; ``duty`` what was to be done.
    """

    def leave(row_id: Any, error: Exception) -> None:
        params = {"row": f"{kind} {row_id}", "duty": duty, "error": in_a_line(error, 300)}
        process_id = row_id if kind == "process" else None
        if kind == "step":
            owners = dialect.fetch("SELECT process_id FROM workers_step WHERE id = %s", [row_id])
            process_id = owners[0][0] if owners else None
        call = AlertCall(
            f"{_cause(kind, duty)}{row_id}",
            "row_unusable",
            params,
            process_id=process_id,
            step_id=row_id if kind == "step" else None,
        )
        alerts.write([call], dialect.read_clock(now))

    return leave


def is_at_rest(kind: str, duty: str, row_id: str, at: str) -> str:
    """Return SQL that is true if ``alerting`` has just named a row; ``row_id`` and ``at`` are SQL.

    For statements that take the first rows: many unusable ones would hide all behind them.
    """
    return (
        # No EXISTS: a kept plan made over few alerts would read them all for each row.
        "((SELECT x.id FROM workers_alert x WHERE x.acknowledged_at IS NULL"
        f" AND x.cause = '{_cause(kind, duty)}' || {row_id}"
        f" AND x.last_raised_at > {dialect.earlier(at, REST_SECONDS)} LIMIT 1) IS NOT NULL)"
    )


def _cause(kind: str, duty: str) -> str:
    return f"row_unusable:{duty}:{kind} "
