"""What statements the engine itself sends, how long they take, and how they are planned."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from benchmarks.exceptions import Wrong
from workers.store.db.prepared_plans import SETTINGS


@dataclass(frozen=True, slots=True)
class Sent:
    statement: str
    params: Any
    ms: float


@contextmanager
def listening() -> Iterator[list[Sent]]:
    """Collect what is sent inside the block."""
    found: list[Sent] = []

    def note(execute, statement, params, many, context):
        began = time.perf_counter()
        try:
            return execute(statement, params, many, context)
        finally:
            found.append(Sent(statement, params, 1000 * (time.perf_counter() - began)))

    with connection.execute_wrapper(note):
        yield found


def the_one(sent: list[Sent], *parts: str) -> Sent:
    """Return the first statement that has all of ``parts``."""
    for one in sent:
        if all(part in one.statement for part in parts):
            return one
    raise Wrong(f"no statement has {parts}; the engine looks for its rows otherwise by now")


def index_of(sent: Sent, table: str, *, is_required: bool) -> str:
    """Return the partial index by which ``table`` is read, or how else it is read.

    As plans are made that the engine keeps: for tables of any size.
    Raises ``Wrong`` without one where it is required.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for name, to in SETTINGS.items():
            cursor.execute(f"SET LOCAL {name} = {to}")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sent.statement}", sent.params)
        plan = cursor.fetchone()[0]
        cursor.execute(
            "SELECT indexrelid::regclass::text FROM pg_index"
            " WHERE indrelid = %s::regclass AND indpred IS NOT NULL",
            [table],
        )
        partial = {row[0] for row in cursor.fetchall()}
    nodes = list(_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    used = [node["Index Name"] for node in nodes if node.get("Index Name") in partial]
    ways = [node["Node Type"] for node in nodes if node.get("Relation Name") == table]
    if used and "Seq Scan" not in ways:
        return used[0]
    if is_required:
        raise Wrong(f"{table} is not read by a partial index but by {', '.join(ways)}")
    return ", ".join(ways)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from _nodes(part)
