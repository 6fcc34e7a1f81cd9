"""The queues: the project's, the engine's, and the agents'.

Agents are known only once Django is set up, later than the settings: Celery gets its queues when a
worker starts or the first message is sent.

Each is declared as a classic queue: Celery's prefetch is for all queues of a worker together,
which a quorum queue refuses, and a RabbitMQ virtual host may create quorum queues by default.
"""

from contextlib import suppress
from typing import Any

import django
from celery.app import amqp
from django.apps import apps
from kombu import Exchange, Queue

from workers.definitions import registry
from workers.definitions.agent import DEFAULT_QUEUE
from workers.wire.dispatch import (
    REPORTS_QUEUE,
    SCHEDULER_QUEUE,
    SUPERVISOR_QUEUE,
)

ENGINE_QUEUES = (SCHEDULER_QUEUE, SUPERVISOR_QUEUE, REPORTS_QUEUE)

PRECONDITION_FAILED = 406


def agent_queues() -> list[str]:
    """Return the names of the queues of all agents, the default queue first."""
    if not apps.models_ready:
        # A Celery command that starts no worker: `celery purge`, `celery inspect`.
        django.setup()
    names = {agent.queue for agent in registry.agents()} - {DEFAULT_QUEUE}
    return [DEFAULT_QUEUE, *sorted(names)]


def _as_classic(queue: Queue) -> Queue:
    """Return a queue declared as a classic one, unless its declaration names a type itself."""
    queue.queue_arguments = {"x-queue-type": "classic", **(queue.queue_arguments or {})}
    return queue


class Queues(amqp.Queues):
    """Celery's own, with every queue a classic one, including those named only by ``-Q``."""

    def add(self, queue: Any, **kwargs: Any) -> Any:
        return super().add(_as_classic(queue) if isinstance(queue, Queue) else queue, **kwargs)


class AMQP(amqp.AMQP):
    """Celery's own, with the engine's queues added to the project's."""

    queues_cls = Queues

    def Queues(  # noqa: N802 (Celery's name; it may pass None)
        self, queues: Any, *args: Any, **kwargs: Any
    ) -> Any:
        all_queues = super().Queues(queues, *args, **kwargs)
        for name in (*ENGINE_QUEUES, *agent_queues()):
            if name not in all_queues:
                all_queues.select_add(Queue(name, Exchange("sas", type="direct"), routing_key=name))
        return all_queues


def declared_otherwise(connection: Any, queue: Queue) -> str | None:
    """Declare a queue; return the broker's error if it exists and differs, else None."""
    channel = connection.channel()
    try:
        queue(channel).queue_declare()
    except connection.channel_errors as refusal:
        if getattr(refusal, "reply_code", None) == PRECONDITION_FAILED:
            return str(getattr(refusal, "reply_text", refusal))
    finally:
        # An error has closed the channel.
        with suppress(Exception):
            channel.close()
    return None


def remedy_of(name: str) -> str:
    """Return what to do about a queue that exists and differs."""
    return (
        f"Stop the workers, delete the queue (`rabbitmqctl delete_queue {name} -p VHOST`) and "
        "start them again: it is made anew, and what its messages asked for is found in the rows. "
        'See "Operating limits" in the documentation.'
    )
