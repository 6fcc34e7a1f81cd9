"""Agents that do not say how long their service remembers a key."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Warning

from workers.definitions import registry
from workers.definitions.agent import Agent, TaskAgent
from workers.definitions.effects import Effect
from workers.exceptions import WorkflowError


def check_key_retention(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn about agents that do not say how long their service remembers a key."""
    try:
        registry.discover()
    except WorkflowError:
        # check_definitions reports it.
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
