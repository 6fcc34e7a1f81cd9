"""Accepting a process: rows in the caller's transaction, a nudge after it."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from workers import dispatch, registry
from workers.conf import sas
from workers.effects import Effect
from workers.models import Process
from workers.rows import NewProcess, NewSink
from workers.store import plans, sql, submitting
from workers.store.committing import durable
from workers.workflow import Fallback, StepSpec, Workflow


def submit(
    workflow: str,
    *,
    subject: str,
    input: dict[str, Any],
    actor: str = "submitter",
    version: int | None = None,
    lane: str = "",
    priority: int = 0,
    deadline_at: datetime | None = None,
    sinks: Sequence[NewSink] = (),
    now: datetime | None = None,
) -> Process:
    """Accept one run of a workflow: the newest version, unless one is named.

    Call it inside the transaction that makes what the process is about (``atomic``): then
    both exist or neither, for whatever fails once rows are written rolls that transaction back.
    The process is durable once that transaction commits, whatever state the broker is in.
    ``input`` is JSON and becomes the snapshot that agents work from.  Raises
    ``UnknownWorkflow``, ``UnknownAgent``, ``ValueError`` for a priority below 0, and
    ``ValueError`` or ``TypeError`` for an input that is no JSON, all before anything is written.

    ``lane`` names whose process it is: many of one lane do not hold up a few of another.
    Each level of ``priority`` is worth a head start of ``SAS_PRIORITY_SECONDS``.
    ``deadline_at`` overrides the workflow's own deadline.  ``sinks`` are told of whatever
    happens to it; their addresses are taken as they are, so check whose they are.
    """
    one = NewProcess(subject, input, lane, priority, deadline_at, sinks)
    return submit_many(workflow, [one], actor=actor, version=version, now=now)[0]


def submit_many(
    workflow: str,
    wanted: Sequence[NewProcess],
    *,
    actor: str = "submitter",
    version: int | None = None,
    now: datetime | None = None,
) -> list[Process]:
    """Accept many runs of a workflow at once: all of them or none; return them in their order.

    As ``submit``, with a handful of statements for all: some hundreds at a time are many
    times as fast.
    """
    for one in wanted:
        if one.priority < 0:
            raise ValueError(
                f"priority is {one.priority}. Give 0 or more: the others come after it."
            )
        # What is no JSON is refused before anything is written: the transaction is as it was.
        sql.encode_document(one.input)
    definition = _completed(registry.workflow(workflow, version))
    with plans.kept(), durable("submission.submit", savepoint=False):
        made = submitting.submit(definition, wanted, actor=actor, now=now)
        transaction.on_commit(dispatch.nudge_later, robust=True)
    return made


def _completed(workflow: Workflow) -> Workflow:
    """Return the workflow with what its agents' declarations add to the steps."""
    return replace(workflow, steps=tuple(_with_effect(spec) for spec in workflow.steps))


def _with_effect(spec: StepSpec) -> StepSpec:
    usual = spec.failure_threshold or int(sas.failure_threshold)
    agent = registry.agent(spec.agent)
    undo = spec.undo
    if undo is not None:
        undoer = registry.agent(undo.agent)
        undo = replace(
            undo, effect=undoer.effect, key_retention_seconds=undoer.key_retention_seconds
        )
    return replace(
        spec,
        failure_threshold=_threshold(spec.agent, usual),
        effect=agent.effect,
        key_retention_seconds=agent.key_retention_seconds,
        undo=undo,
        fallbacks=tuple(_fallback(fallback, usual) for fallback in spec.fallbacks),
    )


def _fallback(fallback: Fallback, usual: int) -> Fallback:
    agent = registry.agent(fallback.agent)
    undo_agent = fallback.undo_agent and registry.agent(fallback.undo_agent)
    return replace(
        fallback,
        failure_threshold=_threshold(fallback.agent, fallback.failure_threshold or usual),
        effect=agent.effect,
        key_retention_seconds=agent.key_retention_seconds,
        undo_effect=undo_agent.effect if undo_agent else None,
        undo_key_retention_seconds=undo_agent.key_retention_seconds if undo_agent else None,
    )


def _threshold(agent: str, usual: int) -> int:
    # A call of unknown outcome must not be repeated, so an unsafe agent's first failure is
    # its last.
    return 1 if registry.agent(agent).effect == Effect.UNSAFE else usual
