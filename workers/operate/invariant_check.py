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
from workers.operate.invariants import INVARIANTS, Invariant, Violation, queries
from workers.store.db import dialect

#: How many processes, or orders, one statement checks.
SLICE = 20_000
#: The time limit of one statement, whatever the connection's own limit.
STATEMENT_SECONDS = 120.0
_LAST = 2**63 - 1

#: Called for each slice: the invariant, how many slices are done, and of how many.
Progress = Callable[[str, int, int], None]


def silently(name: str, done: int, total: int) -> None: ...


#: The first and the last key of a slice.
Range = tuple[int, int]
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
        for query in queries(invariant, condition, with_strays=last == _LAST)
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


def slices(table: str, key: str, size: int | None = None) -> list[Range]:
    """Split the keys of a table into ranges that cover all, including later ones.

    Each but the first begins with a row, so a gap, as of a sequence that jumped, adds none.
    """
    rows = dialect.fetch(
        f"WITH RECURSIVE b(at) AS (SELECT min({key}) FROM {table} UNION ALL"
        f" SELECT (SELECT min({key}) FROM {table} WHERE {key} >= b.at + %s) FROM b"
        " WHERE b.at IS NOT NULL) SELECT at FROM b WHERE at IS NOT NULL ORDER BY at",
        [size or SLICE],
    )
    begins = [0, *(begin for (begin,) in rows[1:])]
    return list(zip(begins, [begin - 1 for begin in begins[1:]] + [_LAST], strict=True))


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Set a time limit for the statements of a block (PostgreSQL)."""
    with transaction.atomic():
        if connection.vendor == "postgresql":
            dialect.execute(f"SET LOCAL statement_timeout = {round(seconds * 1000)}")
            # Otherwise the planner would scan all steps for each slice.
            dialect.execute("SET LOCAL enable_seqscan = off")
        yield
