"""Agents whose queue is one of the engine's own, or one that no broker would create."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Error

from workers.definitions import registry
from workers.exceptions import WorkflowError
from workers.wire.dispatch import (
    REPORTS_QUEUE,
    SCHEDULER_QUEUE,
    SUPERVISOR_QUEUE,
)

#: The queues of the other roles: each would take the other's messages.
TAKEN = frozenset({SCHEDULER_QUEUE, SUPERVISOR_QUEUE, REPORTS_QUEUE})
#: AMQP's limit of a queue's name.
LONGEST = 255


def check_queues(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Refuse an agent's queue that belongs to another role or cannot be created."""
    try:
        agents = registry.agents()
    except WorkflowError:
        # workers.E003 reports it.
        return []
    return [
        Error(
            f"The queue of agent {agent.name!r} is {agent.queue!r}, which {problem}.",
            hint="Give it a name of its own, or leave `queue` out: sas.agents.",
            id="workers.E007",
        )
        for agent in agents
        if (problem := _problem(agent.queue))
    ]


def _problem(queue: Any) -> str | None:
    if not isinstance(queue, str) or not queue or len(queue.encode()) > LONGEST:
        return f"is no text of 1 to {LONGEST} bytes"
    if queue in TAKEN:
        return "belongs to the Scheduler or the Supervisor"
    if queue.startswith("amq."):
        return "begins with amq., which RabbitMQ keeps for itself"
    if "," in queue or any(character.isspace() for character in queue):
        return "has a comma or a space, so that -Q cannot name it"
    return None
