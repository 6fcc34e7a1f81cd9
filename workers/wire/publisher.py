"""Publishing tasks, and awaiting the broker's confirms of several together.

A confirm awaited for each message costs a round trip each: eleven times the time of the
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

#: Whoever sends is not held up: the rows bring the message back.
RETRY_POLICY = {"max_retries": 1, "interval_start": 0.2, "interval_max": 0.5}


@cache
def refusals() -> tuple[type[BaseException], ...]:
    """Return the exceptions by which this transport says that it did not take a message."""
    return errors_of(current_app.connection_for_write())


def publish(name: str, body: list[Any], to: str | Queue, **options: Any) -> str | None:
    """Publish one Celery task; raise ``BrokerRefused`` when the broker did not take it.

    ``to`` is a queue that workers read, by its name, or any other.  The message says which
    installation it is of, unless ``headers`` do.

    Outside a batch it returns once the broker has confirmed it, where it does; in a batch,
    at once and with the id by which the batch tells of it.
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
    """Send one task as Celery's ``send_task`` does in the end.

    Before that it looks up the task, its route and its parents, and it makes a result that could
    be asked for: more than half of the time, for what nobody here uses.
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
        # Repeated for people only, these would carry the payload into headers and logs.
        argsrepr="",
        kwargsrepr="",
        create_sent_event=current_app.conf.task_send_sent_event,
    )
    if (written := _written(message.body)) is not None:
        message = message._replace(body=written)
        options |= {"content_type": "application/json", "content_encoding": "utf-8"}
    if headers is None and (own := own_id()) is not None:
        headers = {HEADER: own}
    # A queue that vanished answers instead of swallowing the message (``mandatory``).
    amqp.send_task_message(
        producer, name, message, queue=to, mandatory=True, headers=headers, **options
    )


def _written(body: Any) -> bytes | None:
    """Return a body of JSON values as kombu would write it, in a tenth of the time.

    None: it has one that only kombu's writer takes for a JSON value, as a ``SafeString``.
    """
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError):
        return None


@contextmanager
def _dropped_when_refused(producer: Producer) -> Iterator[None]:
    """Drop the connection over which a message could not be sent, without closing it properly.

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
    """Return a connection to the tasks' broker with these transport options, not yet opened."""
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
        # One that broke in this batch is not opened again for the rest of it.
        raise BrokerRefused("the connection broke")
    connection.open()
    if to in connection.declared:
        options["declare"] = []
    # Sent again over another connection, the order of confirms would be lost.
    options["retry"] = False
    task_id = str(uuid4())
    connection.publish(task_id, lambda producer: _put(producer, task_id, name, body, to, **options))
    connection.declared.add(to)
    return task_id


_thread = threading.local()


def current() -> ConfirmedConnection | None:
    """Return the batch that this thread is in, if it is in one."""
    return getattr(_thread, "batch", None)


@contextmanager
def batch() -> Iterator[dict[str, BrokerRefused]]:
    """Publish what is published in this block without waiting, and wait at its end.

    Yields what was refused, and why, by the ids that publishing returned: complete once the
    block has ended.  A refused message may have arrived all the same.  Without confirms every
    message is published as it would be outside.  Raises RuntimeError inside another batch.
    """
    if current() is not None:
        # Its messages would be confirmed at the end of the outer one, and told as sent before.
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
    """Wait for what is to be confirmed; without, all has been sent, and a process may die here."""
    if connection is not None:
        connection.confirm()


@cache
def _has_confirms() -> bool:
    options = current_app.conf.broker_transport_options or {}
    is_amqp = current_app.connection_for_write().transport.driver_type == "amqp"
    return is_amqp and bool(options.get("confirm_publish"))
