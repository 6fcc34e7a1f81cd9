"""Reading what requests are built from: inputs, results and idempotency keys."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.store import sql


@dataclass(slots=True)
class Context:
    """One process as its request builders see it."""

    workflow: str
    version: int
    subject: str
    input: dict[str, Any]
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    #: Undo step -> the step it undoes, by id.
    undoes: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    #: Steps of which an earlier claim ended without telling whether it had its effect.
    in_doubt: set[int] = field(default_factory=set)


def contexts(process_ids: Sequence[int]) -> dict[int, Context]:
    """Return the contexts of processes by id; without a lock, for what they hold only grows."""
    ids = sql.id_list(sorted(set(process_ids)))
    found = {
        row[0]: Context(row[1], row[2], row[3], sql.document(row[4]))
        for row in sql.fetch(
            "SELECT id, workflow, version, subject, input FROM workers_process"
            f" WHERE {sql.among('id')}",
            [ids],
        )
    }
    for process_id, step_id, name, key, result, undoes, is_in_doubt in sql.fetch(
        "SELECT process_id, id, name, idempotency_key, result, undoes_id, is_in_doubt"
        " FROM workers_step"
        f" WHERE {sql.among('process_id')}",
        [ids],
    ):
        context = found[process_id]
        context.keys[step_id] = key
        context.names[step_id] = name
        if is_in_doubt:
            context.in_doubt.add(step_id)
        if undoes is not None:
            context.undoes[step_id] = undoes
        if result is not None:
            context.results[name] = sql.document(result)
    return found
