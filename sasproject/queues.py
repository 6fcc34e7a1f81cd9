"""The queues of agents, derived from the agents that the code has.

They are known only when Django is set up, which is after the settings: Celery asks for its
queues when a worker starts or a first message leaves, and gets them then.
"""

from collections.abc import Iterable
from typing import Any

import django
from celery.app import amqp
from django.apps import apps
from kombu import Exchange, Queue

from workers import registry
from workers.agent import DEFAULT_QUEUE


def agent_queues() -> list[str]:
    """Return the name of every queue that some agent is called through, the usual one first."""
    if not apps.models_ready:
        # A command of Celery's that starts no worker: `celery purge`, `celery inspect`.
        django.setup()
    others = {agent.queue for agent in registry.agents()} - {DEFAULT_QUEUE}
    return [DEFAULT_QUEUE, *sorted(others)]


class AMQP(amqp.AMQP):
    """Celery's own, with the agents' queues added to those of the settings."""

    def Queues(  # type: ignore[override]  # noqa: N802 (Celery's name; it passes None, too)
        self, queues: Iterable[Queue] | None, *args: Any, **kwargs: Any
    ) -> Any:
        declared = list(queues or ())
        known = {queue.name for queue in declared}
        declared += [
            Queue(name, Exchange("sas", type="direct"), routing_key=name)
            for name in agent_queues()
            if name not in known
        ]
        return super().Queues(declared, *args, **kwargs)
