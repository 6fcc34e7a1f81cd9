"""Accepting a process: rows in the caller's transaction, a nudge after it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from workers import dispatch, registry
from workers.agent import Effect
from workers.conf import sas
from workers.models import Process
from workers.store import submitting
from workers.workflow import StepSpec, Workflow


def submit(
    workflow: str,
    *,
    subject: str,
    input: dict[str, Any],
    actor: str = "submitter",
    version: int | None = None,
    now: datetime | None = None,
) -> Process:
    """Accept one run of a workflow: the newest version, unless one is named.

    Call it inside the transaction that makes what the process is about (``atomic``): then
    both exist or neither.  The process is durable once that transaction commits, whatever
    state the broker is in.  ``input`` is JSON and becomes the snapshot that agents work
    from.  Raises ``UnknownWorkflow``.
    """
    definition = registry.workflow(workflow, version)
    with transaction.atomic():
        process = submitting.submit(_completed(definition), subject, input, actor=actor, now=now)
        transaction.on_commit(dispatch.nudge_later, robust=True)
    return process


def _completed(workflow: Workflow) -> Workflow:
    """Return the workflow with what its agents' declarations add to the steps."""
    return replace(workflow, steps=tuple(_with_effect(spec) for spec in workflow.steps))


def _with_effect(spec: StepSpec) -> StepSpec:
    usual = spec.failure_threshold or int(sas.failure_threshold)
    return replace(
        spec,
        failure_threshold=_threshold(spec.agent, usual),
        fallbacks=tuple(
            replace(
                fallback,
                failure_threshold=_threshold(fallback.agent, fallback.failure_threshold or usual),
            )
            for fallback in spec.fallbacks
        ),
    )


def _threshold(agent: str, usual: int) -> int:
    # A call of unknown outcome must not be repeated, so an unsafe agent's first failure is
    # its last.
    return 1 if registry.agent(agent).effect == Effect.UNSAFE else usual
