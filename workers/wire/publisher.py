"""Publish tasks, as Celery's ``send_task`` finally does."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from uuid import uuid4

from celery import current_app
from kombu import Connection, Producer, Queue

from workers.conf import sas
from workers.exceptions import BrokerRefused, in_a_line
from workers.wire.confirmed import errors_of
from workers.wire.installation import HEADER, own_id

#: Few retries, so that senders are not held up: the rows bring a lost message back.
RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2, "interval_max": 0.5}


@cache
def refusals() -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean that this transport did not take a message."""
    return errors_of(current_app.connection_for_write())


def publish(name: str, body: list[Any], to: str | Queue, **options: Any) -> None:
    """Publish one Celery task; raise ``BrokerRefused`` if the broker did not take it.

    ``to`` is the name of a queue that workers read, or any other queue.  The message carries this
    installation's id, unless ``headers`` has one.

    Returns once the broker has confirmed it, if the transport has confirms.
    """
    try:
        with current_app.producer_or_acquire() as producer, _dropped_when_refused(producer):
            options |= {"confirm_timeout": sas.reply_seconds, "retry_policy": RETRY_POLICY}
            _put(producer, str(uuid4()), name, body, to, **options)
    except refusals() as error:
        raise BrokerRefused(in_a_line(error)) from error


def _put(
    producer: Producer,
    task_id: str,
    name: str,
    body: list[Any],
    to: str | Queue,
    *,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
    headers: Mapping[str, Any] | None = None,
    **options: Any,
) -> None:
    """Send one task as Celery's ``send_task`` finally does.

    ``send_task`` first looks up the task, its route and its parents, and creates a result object:
    that takes more than half of the time, and nothing here uses it.
    """
    amqp = current_app.amqp
    message = amqp.create_task_message(
        task_id,
        name,
        body,
        {},
        soft_time_limit=soft_time_limit,
        time_limit=time_limit,
        ignore_result=True,
        # These are for people only, and would copy the payload into headers and logs.
        argsrepr="",
        kwargsrepr="",
        create_sent_event=current_app.conf.task_send_sent_event,
    )
    if headers is None and (own := own_id()) is not None:
        headers = {HEADER: own}
    # ``mandatory``: if the queue has vanished, the broker returns the message.
    amqp.send_task_message(
        producer, name, message, queue=to, mandatory=True, headers=headers, **options
    )


@contextmanager
def _dropped_when_refused(producer: Producer) -> Iterator[None]:
    """Drop the connection over which a message could not be sent, without a proper close.

    The pool's close waits for the broker's answer, 10 s for the channel and 10 s for the
    connection, and a broker in alarm reads nothing.
    """
    try:
        yield
    except BaseException:
        if producer.connection is not None:
            producer.connection.collect()
        raise


def connect(**options: Any) -> Connection:
    """Return a connection to the tasks' broker with these transport options, not opened yet."""
    return current_app.connection_for_write(transport_options=options)
