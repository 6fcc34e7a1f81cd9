"""Counting rows up to a bound: many questions, one statement."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from workers.store.db import dialect


def read(asked: Sequence[QuerySet[Any]], most: int) -> list[int]:
    """Return how many rows each finds; one more than ``most`` stands for all beyond."""
    counts = [0] * len(asked)
    places: list[int] = []
    parts: list[str] = []
    params: list[Any] = []
    for place, rows in enumerate(asked):
        statement, values = _statement(rows, most)
        if not statement:
            continue
        places.append(place)
        parts.append(f"(SELECT count(*) FROM ({statement}) c{place})")
        params += values
    if parts:
        (numbers,) = dialect.fetch(f"SELECT {', '.join(parts)}", params)
        for place, number in zip(places, numbers, strict=True):
            counts[place] = number
    return counts


def check(rows: QuerySet[Any]) -> None:
    """Raise ``OverflowError`` for rows narrowed by an instant that a database cannot be asked for.

    Asked together with others they would keep all of them from being counted.
    """
    _statement(rows, 0)


def _statement(rows: QuerySet[Any], most: int) -> tuple[str, Sequence[Any]]:
    """Return what finds the keys of rows; no statement where there can be none."""
    keys = rows.order_by().values("pk")[: most + 1]
    try:
        statement, values = keys.query.get_compiler(rows.db).as_sql()
    except EmptyResultSet:
        return "", ()
    return statement, values
