"""Check invariants on tables of any size: in slices, each with its own time limit.

A slice is a range of keys and one statement, so one snapshot of whole processes: an invariant
that holds at every instant holds in it, too.  One that takes too long is unknown; the others
still count.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from django.db import OperationalError, connection, transaction

from workers.exceptions import sqlstate
from workers.ops.invariant import Invariant
from workers.ops.invariants import INVARIANTS, Violation, queries
from workers.store.db import dialect
from workers.store.db.slices import LAST, Progress, Range, silently, slices

__all__ = [
    "STATEMENT_SECONDS",
    "Look",
    "Progress",
    "Result",
    "check",
    "check_one",
    "silently",
    "slices",
]

#: The time limit of one statement, whatever the connection's own limit.
STATEMENT_SECONDS = 120.0
#: Finds violations of an invariant in a range of keys.
Look = Callable[[int, int], list[Violation]]


@dataclass(slots=True)
class Result:
    """The result of one invariant."""

    invariant: str
    violations: list[Violation] = field(default_factory=list)
    #: Why it is unknown whether it holds; empty: it was checked completely.
    unknown: str = ""


def check(progress: Progress = silently, *, seconds: float = STATEMENT_SECONDS) -> Iterator[Result]:
    """Check the engine's invariants slice by slice, so that all of them share cached pages."""
    ranges = slices("workers_process", "id")
    results = {invariant.name: Result(invariant.name) for invariant in INVARIANTS}
    for done, (first, last) in enumerate(ranges):
        progress("engine", done, len(ranges))
        for invariant in INVARIANTS:
            look = partial(_look, invariant)
            if not results[invariant.name].unknown:
                _add(results[invariant.name], look, first, last, seconds)
    yield from results.values()


def _look(invariant: Invariant, first: int, last: int) -> list[Violation]:
    condition = f"{{id}} BETWEEN {first} AND {last}"
    return [
        Violation(invariant.name, invariant.says, str(subject), str(wrong))
        for query in queries(invariant, condition, with_strays=last == LAST)
        for subject, wrong in dialect.fetch(query)
    ]


def check_one(
    name: str,
    look: Look,
    ranges: list[Range],
    progress: Progress = silently,
    seconds: float = STATEMENT_SECONDS,
) -> Result:
    """Check one invariant, range by range."""
    result = Result(name)
    for done, (first, last) in enumerate(ranges):
        progress(name, done, len(ranges))
        if not result.unknown:
            _add(result, look, first, last, seconds)
    return result


def _add(result: Result, look: Look, first: int, last: int, seconds: float) -> None:
    """Check one range; record its violations, or that it took too long."""
    try:
        with _limited(seconds):
            result.violations += look(first, last)
    except OperationalError as error:
        if sqlstate(error) != "57014":
            raise
        result.unknown = f"took longer than {seconds:g} s"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Set a time limit for the statements of a block (PostgreSQL)."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            dialect.execute(f"SET LOCAL statement_timeout = {round(seconds * 1000)}")
            # Otherwise the planner would scan all steps for each slice.
            dialect.execute("SET LOCAL enable_seqscan = off")
        yield
