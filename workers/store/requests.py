"""Reading what requests are built from: inputs, and the results so far."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from workers.store import plans, sql
from workers.store.claims import Claim


@dataclass(slots=True)
class Context:
    """One process as its definitions see it."""

    workflow: str
    version: int
    subject: str
    input: dict[str, Any]
    #: Step name -> what it came to, of those that have a result.
    results: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Undone:
    """The step that an undo step undoes."""

    name: str
    key: str


@dataclass(frozen=True, slots=True)
class Material:
    """What the requests of some claims are built from."""

    #: By process.
    contexts: dict[int, Context]
    #: By the step that is undone.
    undone: dict[int, Undone]


@plans.kept()
def material(claims: Sequence[Claim]) -> Material:
    """Return what the requests of claims are built from; without a lock, like ``contexts``."""
    return Material(
        contexts([claim.process_id for claim in claims]),
        _undone([claim.undoes_id for claim in claims if claim.undoes_id is not None]),
    )


def contexts(process_ids: Sequence[int]) -> dict[int, Context]:
    """Return the contexts of processes by id; without a lock, for what they hold only grows."""
    if not process_ids:
        return {}
    results = sql.object_of("s.name", "s.result")
    return {
        row[0]: Context(
            row[1], row[2], row[3], sql.document(row[4]), sql.document(row[5]) if row[5] else {}
        )
        for row in sql.fetch(
            "SELECT p.id, p.workflow, p.version, p.subject, p.input,"
            f" (SELECT {results} FROM workers_step s"
            " WHERE s.process_id = p.id AND s.result IS NOT NULL)"
            f" FROM workers_process p WHERE {sql.among('p.id')}",
            [sql.id_list(sorted(set(process_ids)))],
        )
    }


def _undone(step_ids: Sequence[int]) -> dict[int, Undone]:
    # Neither name nor key changes while the undo step is claimed.
    if not step_ids:
        return {}
    return {
        step_id: Undone(name, key)
        for step_id, name, key in sql.fetch(
            f"SELECT id, name, idempotency_key FROM workers_step WHERE {sql.among('id')}",
            [sql.id_list(sorted(set(step_ids)))],
        )
    }
