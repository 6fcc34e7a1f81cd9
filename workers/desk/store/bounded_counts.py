"""Count rows up to a bound: many counts in one statement."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from workers.store.db import dialect


def read(queries: Sequence[QuerySet[Any]], most: int) -> list[int]:
    """Return how many rows each query has, up to ``most`` + 1, which means "more"."""
    counts = [0] * len(queries)
    indexes: list[int] = []
    parts: list[str] = []
    params: list[Any] = []
    for index, query in enumerate(queries):
        statement, values = _statement(query, most)
        if not statement:
            continue
        indexes.append(index)
        parts.append(f"(SELECT count(*) FROM ({statement}) c{index})")
        params += values
    if parts:
        (numbers,) = dialect.fetch(f"SELECT {', '.join(parts)}", params)
        for index, number in zip(indexes, numbers, strict=True):
            counts[index] = number
    return counts


def check(rows: QuerySet[Any]) -> None:
    """Raise ``OverflowError`` for a query with an instant that the database cannot represent.

    In one statement with others, it would make all of the counts fail.
    """
    _statement(rows, 0)


def _statement(rows: QuerySet[Any], most: int) -> tuple[str, Sequence[Any]]:
    """Return the SQL for the keys of rows; empty if there can be no rows."""
    keys = rows.order_by().values("pk")[: most + 1]
    try:
        statement, values = keys.query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:
        return "", ()
    return statement, values
