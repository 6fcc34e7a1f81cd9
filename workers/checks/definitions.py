"""Declarations of workflows and agents that cannot work."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from workers.definitions import registry
from workers.definitions.agent import Agent
from workers.definitions.effects import Effect
from workers.definitions.workflow import OnFailure
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
        *_unknown_workflows(),
        *_unsafe_repetitions(agents),
        *_agents_without_probe(),
    ]


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


def _unknown_workflows() -> list[CheckMessage]:
    """Refuse lists of children and schedules that would begin what is not there."""
    workflows = registry.workflows()
    known = {workflow.name for workflow in workflows}
    named = [
        *(
            (f"Step {spec.name} of workflow {workflow.name}", spec.children.workflow)
            for workflow in workflows
            for spec in workflow.steps
            if spec.children
        ),
        *((f"Schedule {each.name}", str(each.workflow)) for each in registry.schedules().values()),
    ]
    return [
        Error(
            f"{where} begins processes of workflow {name!r}, which is not registered.",
            hint=f"Register it, or use one of: {', '.join(sorted(known)) or 'none yet'}.",
            id="workers.E028",
        )
        for where, name in named
        if name not in known
    ]
