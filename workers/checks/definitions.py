"""Declarations of workflows and agents that cannot work."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning

from workers.definitions import registry
from workers.definitions.agent import Agent
from workers.definitions.effects import Effect
from workers.definitions.workflow import OnDeadline, OnFailure, Workflow
from workers.exceptions import WorkflowError


def check_definitions(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse workflows whose agents do not exist or do not fit, and agents without a probe."""
    try:
        registry.discover()
    except WorkflowError as error:
        return [Error(str(error), id="workers.E003")]
    agents = {agent.name for agent in registry.agents()}
    return [
        *_unknown_agents(agents),
        *_unsafe_repetitions(agents),
        *_agents_without_probe(),
        *_undone_for_an_optional_step(),
    ]


def _undone_for_an_optional_step() -> list[CheckMessage]:
    """Warn about workflows that a deadline can undo while only an optional step is missing."""
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


def _agents_without_probe() -> list[CheckMessage]:
    """Refuse queryable agents without a ``probe``."""
    return [
        Error(
            f"Agent {agent.name!r} is queryable and has no probe: after a call of unknown outcome "
            "the service could not be asked.",
            hint="Give it a probe(call), or declare another effect.",
            id="workers.E011",
        )
        for agent in registry.agents()
        if agent.effect == Effect.QUERYABLE and type(agent).probe is Agent.probe
    ]


def _unsafe_repetitions(agents: set[str]) -> list[CheckMessage]:
    """Refuse declarations that would call an agent again after a call of unknown outcome."""
    messages: list[CheckMessage] = []
    for workflow in registry.workflows():
        for spec in workflow.steps:
            undoers = [spec.undo.agent if spec.undo else None]
            undoers += [fallback.undo_agent for fallback in spec.fallbacks]
            doers = [spec.agent, *(fallback.agent for fallback in spec.fallbacks)]
            where = f"Step {spec.name} of workflow {workflow.name} version {workflow.version}"
            messages += [
                Error(
                    f"{where} is undone by {name!r}, which is unsafe: an undo is tried again.",
                    hint="Undo by an agent whose service honours the idempotency key.",
                    id="workers.E005",
                )
                for name in undoers
                if name in agents and registry.agent(str(name)).effect == Effect.UNSAFE
            ]
            if spec.on_failure == OnFailure.WAIT:
                messages += [
                    Error(
                        f"{where} waits and tries again, and {name!r} is unsafe.",
                        hint="Choose another on_failure, or make the step optional.",
                        id="workers.E006",
                    )
                    for name in doers
                    if name in agents and registry.agent(name).effect == Effect.UNSAFE
                ]
    return messages


def _unknown_agents(agents: set[str]) -> list[CheckMessage]:
    return [
        Error(
            f"Step {spec.name} of workflow {workflow.name} version {workflow.version} names the"
            f" agent {name!r}, which is not registered.",
            hint=f"Register it, or use one of: {', '.join(sorted(agents)) or 'none yet'}.",
            id="workers.E004",
        )
        for workflow in registry.workflows()
        for spec in workflow.steps
        for name in spec.agents
        if name not in agents
    ]
