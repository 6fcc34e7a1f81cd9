"""The tables of keys, and of lists of children."""

from collections.abc import Mapping
from typing import Any

from benchmarks.report.table import Table, number

TITLES = {
    "ours": "children of one step",
    "submitted": "as many processes, submitted before the workers begin",
    "dbos": "DBOS: child workflows, awaited by their parent",
    "chord": "Celery chord on Redis, which keeps nothing",
}
KEYS = {
    "per_second": "orders/s",
    "cpu_ms": "CPU ms",
    "commits": "commits",
    "wal_bytes": "WAL bytes",
}
LISTED = {**KEYS, "per_second": "a second", "parent_bytes": "bytes of the parent",
          "scheduler_mb": "more MB of a Scheduler"}  # fmt: skip


def keys(found: Mapping[str, Any]) -> Table | None:
    table = dict(found["keys"] or {})
    if not table:
        return None
    note = f"One call at a time for each key: {number(table.pop('ratio'))} times what has no limit."
    return Table("Limits for each of 1,000 keys", ("", *KEYS.values()), _rows(table, KEYS), note)


def lists(found: Mapping[str, Any]) -> Table | None:
    table = found["lists"]
    if not table:
        return None
    named = {TITLES[name]: one for name, one in table.items()}
    note = "Of what does nothing, a hundred at once."
    return Table("Lists", ("", *LISTED.values()), _rows(named, LISTED), note)


def _rows(table: Mapping[str, Any], columns: Mapping[str, str]) -> list[tuple[str, ...]]:
    return [
        (name, *(number((one or {}).get(key)) for key in columns)) for name, one in table.items()
    ]
