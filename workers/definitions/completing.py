"""Complete workflows with what the declarations of their agents add to the steps."""

from dataclasses import replace
from functools import lru_cache

from workers.conf import sas
from workers.definitions import registry
from workers.definitions.agent import Agent
from workers.definitions.effects import Effect
from workers.definitions.workflow import Fallback, StepSpec, Workflow


def completed(workflow: Workflow) -> Workflow:
    """Return the workflow with what its agents' declarations add to the steps."""
    agents = tuple(map(registry.agent, workflow.agents))
    return _complete(workflow, agents, int(sas.failure_threshold))


@lru_cache
def _complete(workflow: Workflow, agents: tuple[Agent, ...], threshold: int) -> Workflow:
    """Complete a definition once, instead of with every submission."""
    by_name = dict(zip(workflow.agents, agents, strict=True))
    steps = tuple(_with_effect(spec, by_name, threshold) for spec in workflow.steps)
    return replace(workflow, steps=steps)


def _with_effect(spec: StepSpec, agents: dict[str, Agent], threshold: int) -> StepSpec:
    if spec.children is not None:
        # A repeated birth is nothing, and so is a repeated undo.
        assert spec.undo is not None
        return replace(
            spec,
            failure_threshold=1,
            effect=Effect.IDEMPOTENT,
            undo=replace(spec.undo, effect=Effect.IDEMPOTENT),
        )
    usual = spec.failure_threshold or threshold
    agent, undo = agents[spec.agent], spec.undo
    if undo is not None:
        undoer = agents[undo.agent]
        undo = replace(
            undo,
            effect=undoer.effect,
            key_retention_seconds=undoer.key_retention_seconds,
            per_key=_per_key(undoer),
        )
    return replace(
        spec,
        failure_threshold=_threshold(agent, usual),
        effect=agent.effect,
        key_retention_seconds=agent.key_retention_seconds,
        per_key=_per_key(agent),
        undo=undo,
        fallbacks=tuple(_fallback(fallback, agents, usual) for fallback in spec.fallbacks),
    )


def _fallback(fallback: Fallback, agents: dict[str, Agent], usual: int) -> Fallback:
    agent = agents[fallback.agent]
    undoer = agents[fallback.undo_agent] if fallback.undo_agent else None
    return replace(
        fallback,
        failure_threshold=_threshold(agent, fallback.failure_threshold or usual),
        effect=agent.effect,
        key_retention_seconds=agent.key_retention_seconds,
        per_key=_per_key(agent),
        undo_per_key=_per_key(undoer) if undoer else None,
        undo_effect=undoer.effect if undoer else None,
        undo_key_retention_seconds=undoer.key_retention_seconds if undoer else None,
    )


def _per_key(agent: Agent) -> str | None:
    return agent.per_key.attribute if agent.per_key is not None else None


def _threshold(agent: Agent, usual: int) -> int:
    # A call of unknown outcome must not be repeated: an unsafe agent's first failure is its last.
    return 1 if agent.effect == Effect.UNSAFE else usual
