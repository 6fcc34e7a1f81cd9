"""Declarations that work, and may cost money."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning

from workers.definitions import registry
from workers.definitions.agent import Agent, TaskAgent
from workers.definitions.effects import Effect
from workers.definitions.workflow import OnDeadline, Workflow
from workers.exceptions import WorkflowError


def check_key_retention(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about agents that do not say how long their service remembers a key."""
    try:
        registry.discover()
    except WorkflowError:
        # workers.E003 reports it.
        return []
    return [
        Warning(
            f"Agent {agent.name!r} is idempotent and does not say how long its service remembers "
            "an idempotency key: a call of unknown outcome is repeated after any time, and is a "
            "second effect once the key is forgotten.",
            hint="Declare key_retention_seconds, or key_retention_seconds = None where the service "
            "remembers keys for ever.",
            id="workers.W015",
        )
        for agent in registry.agents()
        if agent.effect == Effect.IDEMPOTENT
        # A local agent's effect is in the transaction of its reply, a task's in its own code.
        and not (agent.is_local or isinstance(agent, TaskAgent))
        and not _says_key_retention(type(agent))
    ]


def _says_key_retention(cls: type[Agent]) -> bool:
    subclasses = cls.__mro__[: cls.__mro__.index(Agent)]
    return any("key_retention_seconds" in vars(subclass) for subclass in subclasses)


def check_deadlines(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about workflows that a deadline can undo while only an optional step is missing."""
    try:
        registry.discover()
    except WorkflowError:
        # workers.E003 reports it.
        return []
    return [
        Warning(
            f"Workflow {workflow.name} version {workflow.version} is undone at its deadline, even "
            f"if its optional step {spec.name} is all that was waited for.",
            hint="Name in no_return the last steps that are neither optional nor conditional and "
            f"do not come after {spec.name}, or choose on_deadline=OnDeadline.ALERT.",
            id="workers.W012",
        )
        for workflow in registry.workflows()
        if _is_undone_at_its_deadline(workflow)
        for spec in workflow.steps
        if spec.optional and not _is_safe_without(workflow, spec.name)
    ]


def _is_undone_at_its_deadline(workflow: Workflow) -> bool:
    if workflow.deadline_seconds is None or workflow.on_deadline != OnDeadline.COMPENSATE:
        return False
    return any(
        spec.undo or any(fallback.undo_agent for fallback in spec.fallbacks)
        for spec in workflow.steps
    )


def _is_safe_without(workflow: Workflow, optional: str) -> bool:
    """Say whether the point of no return is passed while a step and its successors wait.

    An optional or conditional step may be skipped, and then never takes a process past it.
    """
    waiting = {optional}
    while more := {
        spec.name for spec in workflow.steps if spec.name not in waiting and waiting & {*spec.after}
    }:
        waiting |= more
    specs = [workflow.by_name[name] for name in workflow.no_return]
    return bool(specs) and not any(
        spec.optional or spec.when is not None or spec.name in waiting for spec in specs
    )
