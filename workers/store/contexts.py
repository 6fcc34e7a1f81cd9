"""What definitions are asked with: inputs, and the results so far."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from workers.store import sql


@dataclass(slots=True)
class Context:
    """One process as its definitions see it."""

    workflow: str
    version: int
    subject: str
    input: dict[str, Any]
    #: Step name -> what it came to, of those that have a result.
    results: dict[str, dict[str, Any]] = field(default_factory=dict)


def read(process_ids: Iterable[int]) -> dict[int, Context]:
    """Return the contexts of processes by id; without a lock, for what they hold only grows."""
    return send(process_ids)()


def send(process_ids: Iterable[int]) -> Callable[[], dict[int, Context]]:
    """As ``read``, and return how to read them: in a ``pipelined`` block it is sent along."""
    ids = sorted(set(process_ids))
    if not ids:
        return dict
    results = sql.object_of("s.name", "s.result")
    answer = sql.send(
        "SELECT p.id, p.workflow, p.version, p.subject, p.input,"
        f" (SELECT {results} FROM workers_step s"
        " WHERE s.process_id = p.id AND s.result IS NOT NULL)"
        f" FROM workers_process p WHERE {sql.among('p.id')}",
        [sql.id_list(ids)],
    )
    return lambda: {row[0]: _context(row) for row in answer()}


def _context(row: tuple[Any, ...]) -> Context:
    _, workflow, version, subject, given, results = row
    return Context(
        workflow, version, subject, sql.document(given), sql.document(results) if results else {}
    )
