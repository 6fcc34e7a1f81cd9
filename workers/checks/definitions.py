"""Workflows and agents that are declared in a way that cannot work."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error, Warning

from workers.definitions import registry
from workers.definitions.agent import Agent, TaskAgent
from workers.definitions.effects import Effect
from workers.definitions.workflow import OnDeadline, OnFailure, Workflow
from workers.exceptions import WorkflowError


def check_definitions(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse workflows that name agents which do not exist."""
    try:
        registry.discover()
    except WorkflowError as error:
        return [Error(str(error), id="workers.E003")]
    known = {agent.name for agent in registry.agents()}
    return [
        *_unknown_agents(known),
        *_unsafe_repetitions(known),
        *_unaskable_agents(),
        *_undone_for_little(),
    ]


def check_key_retention(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of agents that leave open how long their service remembers a key."""
    try:
        registry.discover()
    except WorkflowError:
        # Named by check_definitions.
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
        # A local agent's effect is in the transaction of its reply, a task's in code of its own.
        and not (agent.is_local or isinstance(agent, TaskAgent))
        and not _says_key_retention(type(agent))
    ]


def _says_key_retention(kind: type[Agent]) -> bool:
    below = kind.__mro__[: kind.__mro__.index(Agent)]
    return any("key_retention_seconds" in vars(one) for one in below)


def _undone_for_little() -> list[CheckMessage]:
    """Warn where a deadline can undo what is done while an optional step is waited for."""
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
    """Say whether the point of no return is passed while that step, and those after it, wait.

    A step that is skipped, being optional or conditional, never takes a process past it.
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


def _unaskable_agents() -> list[CheckMessage]:
    """Refuse agents that say they can be asked and give no way to."""
    return [
        Error(
            f"Agent {agent.name!r} is queryable and has no probe: after a call of unknown outcome "
            "nobody could be asked.",
            hint="Give it a probe(call), or declare another effect.",
            id="workers.E011",
        )
        for agent in registry.agents()
        if agent.effect == Effect.QUERYABLE and type(agent).probe is Agent.probe
    ]


def _unsafe_repetitions(known: set[str]) -> list[CheckMessage]:
    """Refuse declarations that would call an agent again after a call of unknown outcome."""
    found: list[CheckMessage] = []
    for workflow in registry.workflows():
        for spec in workflow.steps:
            undoers = [spec.undo.agent if spec.undo else None]
            undoers += [fallback.undo_agent for fallback in spec.fallbacks]
            doers = [spec.agent, *(fallback.agent for fallback in spec.fallbacks)]
            where = f"Step {spec.name} of workflow {workflow.name} version {workflow.version}"
            found += [
                Error(
                    f"{where} is undone by {name!r}, which is unsafe: an undo is tried again.",
                    hint="Undo by an agent whose service honours the idempotency key.",
                    id="workers.E005",
                )
                for name in undoers
                if name in known and registry.agent(str(name)).effect == Effect.UNSAFE
            ]
            if spec.on_failure == OnFailure.WAIT:
                found += [
                    Error(
                        f"{where} waits and tries again, and {name!r} is unsafe.",
                        hint="Choose another on_failure, or make the step optional.",
                        id="workers.E006",
                    )
                    for name in doers
                    if name in known and registry.agent(name).effect == Effect.UNSAFE
                ]
    return found


def _unknown_agents(known: set[str]) -> list[CheckMessage]:
    return [
        Error(
            f"Step {spec.name} of workflow {workflow.name} version {workflow.version} names the"
            f" agent {name!r}, which is not registered.",
            hint=f"Register it, or use one of: {', '.join(sorted(known)) or 'none yet'}.",
            id="workers.E004",
        )
        for workflow in registry.workflows()
        for spec in workflow.steps
        for name in spec.agents
        if name not in known
    ]
