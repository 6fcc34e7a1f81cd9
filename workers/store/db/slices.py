"""Long work on a table, a range of keys at a time."""

from collections.abc import Callable

from workers.store.db import dialect

#: How many keys a slice has.
SLICE = 20_000
LAST = 2**63 - 1
#: The first and the last key of a slice.
Range = tuple[int, int]
#: Called for each slice: what for, how many slices are done, and of how many.
Progress = Callable[[str, int, int], None]


def silently(name: str, done: int, total: int) -> None: ...


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
    return list(zip(begins, [begin - 1 for begin in begins[1:]] + [LAST], strict=True))
