"""Contexts for calling definitions: a process's input, and its results so far."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from workers.rules.transitions import LockedProcess
from workers.store.db import dialect


@dataclass(slots=True)
class Context:
    """One process as its definitions see it."""

    workflow: str
    version: int
    subject: str
    input: dict[str, Any]
    #: Step name -> result, for the steps that have one, in the order of the steps.
    results: dict[str, dict[str, Any]] = field(default_factory=dict)


def of(locked: LockedProcess) -> Context | None:
    """Return a process's context from the values read and written under its lock.

    None: a value was too large to be read with its row; use ``read`` then.  Values are always as
    the database returns them, never as a reply brought them: a repeated attempt must send the
    same, and the database does not keep the order of names and rewrites some numbers.
    """
    input_text = locked.input_as_read
    texts = [(step.name, locked.results_as_read.get(step.id)) for step in locked.steps]
    if not input_text or any(text == dialect.LARGE for _, text in texts):
        return None
    results = {name: dialect.document(text) for name, text in texts if text is not None}
    process = locked.process
    return Context(
        process.workflow, process.version, process.subject, dialect.document(input_text), results
    )


def of_all(processes: Iterable[LockedProcess]) -> dict[int, Context]:
    """Return the contexts of locked processes by id; read those with large values."""
    contexts = {locked.process.id: of(locked) for locked in processes}
    small = {process_id: context for process_id, context in contexts.items() if context is not None}
    return small | read(set(contexts) - set(small))


def read(process_ids: Iterable[int]) -> dict[int, Context]:
    """Return the contexts of processes by id; needs no lock, because they only grow."""
    ids = sorted(set(process_ids))
    if not ids:
        return {}
    with dialect.pipelined():
        processes = dialect.send(
            "SELECT p.id, p.workflow, p.version, p.subject, p.input FROM workers_process p"
            f" WHERE {dialect.among('p.id')}",
            [dialect.id_list(ids)],
        )
        steps = dialect.of_each("workers_step", "process_id")
        results = dialect.send(
            f"SELECT t.process_id, t.name, t.result FROM {steps}"
            " WHERE t.result IS NOT NULL ORDER BY t.process_id, t.position",
            [dialect.id_list(ids)],
        )
    contexts = {
        process_id: Context(workflow, version, subject, dialect.document(input_text))
        for process_id, workflow, version, subject, input_text in processes()
    }
    for process_id, name, result in results():
        contexts[process_id].results[name] = dialect.document(result)
    return contexts
