"""Publish tasks, and await the broker's confirms of several together.

Awaiting each message's confirm costs a round trip per message: eleven times the time of the
publishing itself.  Transports without confirms publish as usual.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any
from uuid import uuid4

import msgspec
from celery import current_app
from kombu import Connection, Producer, Queue

from workers.conf import sas
from workers.exceptions import BrokerRefused, in_a_line
from workers.runtime.failpoints import around
from workers.runtime.per_process import per_process
from workers.wire.confirmed import ConfirmedConnection, errors_of
from workers.wire.installation import HEADER, own_id

#: Few retries, so that senders are not held up: the rows bring a lost message back.
RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2, "interval_max": 0.5}


@cache
def refusals() -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean that this transport did not take a message."""
    return errors_of(current_app.connection_for_write())


def publish(name: str, body: list[Any], to: str | Queue, **options: Any) -> str | None:
    """Publish one Celery task; raise ``BrokerRefused`` if the broker did not take it.

    ``to`` is the name of a queue that workers read, or any other queue.  The message carries this
    installation's id, unless ``headers`` has one.

    Outside a batch, returns once the broker has confirmed it, if the transport has confirms; in a
    batch, returns at once, with the id by which the batch reports a refusal.
    """
    batch = current()
    try:
        if batch is not None and isinstance(to, str):
            return _publish_unconfirmed(batch, name, body, to, **options)
        with current_app.producer_or_acquire() as producer, _dropped_when_refused(producer):
            options |= {"confirm_timeout": sas.reply_seconds, "retry_policy": RETRY_POLICY}
            _put(producer, str(uuid4()), name, body, to, **options)
    except refusals() as error:
        raise BrokerRefused(in_a_line(error)) from error
    return None


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
    if (encoded := _encoded(message.body)) is not None:
        message = message._replace(body=encoded)
        options |= {"content_type": "application/json", "content_encoding": "utf-8"}
    if headers is None and (own := own_id()) is not None:
        headers = {HEADER: own}
    # ``mandatory``: if the queue has vanished, the broker returns the message.
    amqp.send_task_message(
        producer, name, message, queue=to, mandatory=True, headers=headers, **options
    )


def _encoded(body: Any) -> bytes | None:
    """Encode a body of JSON values as kombu would, in a tenth of the time.

    None: it has a value that only kombu's encoder accepts, such as a ``SafeString``.
    """
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError):
        return None


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


@per_process
def confirming() -> ConfirmedConnection:
    """Return the connection over which this process sends its batches."""
    return ConfirmedConnection(connect)


def _publish_unconfirmed(
    connection: ConfirmedConnection, name: str, body: list[Any], to: str, **options: Any
) -> str:
    """Publish one task in a batch; return its id."""
    if connection.refused and not connection.is_open:
        # A connection that broke in this batch is not reopened for the rest of it.
        raise BrokerRefused("the connection broke")
    connection.open()
    if to in connection.declared:
        options["declare"] = []
    # A retry over another connection would lose the order of confirms.
    options["retry"] = False
    task_id = str(uuid4())
    connection.publish(task_id, lambda producer: _put(producer, task_id, name, body, to, **options))
    connection.declared.add(to)
    return task_id


_thread = threading.local()


def current() -> ConfirmedConnection | None:
    """Return the batch that this thread is in, if any."""
    return getattr(_thread, "batch", None)


@contextmanager
def batch() -> Iterator[dict[str, BrokerRefused]]:
    """Publish messages in this block without waiting, and wait for all at its end.

    Yields the refusals by message id, as returned by publishing: complete once the block has
    ended.  A refused message may have arrived all the same.  On transports without confirms every
    message is published as outside a batch.  Raises RuntimeError inside another batch.
    """
    if current() is not None:
        # Its messages would be confirmed only with the outer batch, but count as sent before.
        raise RuntimeError("A batch must begin outside every other. End the first one.")
    if not _has_confirms():
        yield {}
        _confirm(None)
        return
    connection = confirming()
    with connection.lock:
        connection.begin()
        _thread.batch = connection
        try:
            yield connection.refused
        finally:
            _thread.batch = None
            _confirm(connection)


@around("publisher.confirm")
def _confirm(connection: ConfirmedConnection | None) -> None:
    """Wait for the confirms of a batch, if any; in both cases a failpoint, where tests kill."""
    if connection is not None:
        connection.confirm()


@cache
def _has_confirms() -> bool:
    options = current_app.conf.broker_transport_options or {}
    is_amqp = current_app.connection_for_write().transport.driver_type == "amqp"
    return is_amqp and bool(options.get("confirm_publish"))
