"""Checking invariants on tables of any size: in slices, each with a time limit of its own.

A slice is a range of keys and one statement, so one snapshot of whole processes: what holds at
every instant holds in it, too.  An invariant that takes too long is not known, and the others are.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import OperationalError, connection, transaction

from workers.invariants import INVARIANTS, Violation, queries
from workers.store import sql

#: Processes, or orders, of one statement.
SLICE = 20_000
#: Time for one statement, whatever the connection's own limit.
STATEMENT_SECONDS = 120.0
_LAST = 2**63 - 1

#: Told of each slice: the invariant, how many slices are done, and of how many.
Progress = Callable[[str, int, int], None]


def _silently(name: str, done: int, of: int) -> None: ...


@dataclass(slots=True)
class Result:
    """What came of one invariant."""

    invariant: str
    violations: list[Violation] = field(default_factory=list)
    #: Why nobody knows whether it holds; empty: it was looked at whole.
    unknown: str = ""


#: The first and the last key of a slice.
Range = tuple[int, int]


def check(
    progress: Progress = _silently, *, seconds: float = STATEMENT_SECONDS
) -> Iterator[Result]:
    """Check the engine's invariants one by one."""
    ranges = slices("workers_process", "id")
    for invariant in INVARIANTS:

        def look(first: int, last: int, one: Any = invariant) -> list[Violation]:
            some = f"{{id}} BETWEEN {first} AND {last}"
            return [
                Violation(one.name, one.says, str(subject), str(wrong))
                for query in queries(one, some, with_strays=last == _LAST)
                for subject, wrong in sql.fetch(query)
            ]

        yield check_one(invariant.name, look, ranges, progress, seconds)


def check_one(
    name: str,
    look: Callable[[int, int], list[Violation]],
    ranges: list[Range],
    progress: Progress = _silently,
    seconds: float = STATEMENT_SECONDS,
) -> Result:
    """Have one invariant looked at, range by range."""
    result = Result(name)
    for done, (first, last) in enumerate(ranges):
        progress(name, done, len(ranges))
        try:
            with _limited(seconds):
                result.violations += look(first, last)
        except OperationalError as error:
            if not _is_timeout(error):
                raise
            result.unknown = f"took longer than {seconds:g} s"
            break
    progress(name, len(ranges), len(ranges))
    return result


def slices(table: str, key: str, size: int | None = None) -> list[Range]:
    """Cut the keys of a table into ranges that leave out none, now or later."""
    size = size or SLICE
    low, high = sql.fetch(f"SELECT min({key}), max({key}) FROM {table}")[0]
    begins = [0, *range((low or 0) + size, (high or 0) + 1, size)]
    return list(zip(begins, [begin - 1 for begin in begins[1:]] + [_LAST], strict=True))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Give the statements of a block a time limit of their own (PostgreSQL)."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            sql.execute(f"SET LOCAL statement_timeout = {round(seconds * 1000)}")
        yield


def _is_timeout(error: OperationalError) -> bool:
    return getattr(error.__cause__, "sqlstate", None) == "57014"
