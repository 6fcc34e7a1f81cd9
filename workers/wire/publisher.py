"""Publishing tasks, and awaiting the broker's confirms of several together.

A confirm awaited for each message costs a round trip each: eleven times the time of the
publishing itself.  Transports without confirms publish as ever.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic
from typing import Any
from uuid import uuid4

import msgspec
from celery import current_app
from kombu import Producer
from kombu.exceptions import OperationalError

from workers.conf import sas
from workers.exceptions import BrokerRefused
from workers.runtime.failpoints import around

#: The broker closes connections that say nothing for long: an older one is not trusted.
FRESH_SECONDS = 30.0


@cache
def refusals() -> tuple[type[BaseException], ...]:
    """Return the exceptions by which this transport says that it did not take a message."""
    connection = current_app.connection_for_write()
    # A refusal by a full queue (nack) is among those that one may recover from alone.
    return (
        *(OperationalError, OSError),
        *(*connection.connection_errors, *connection.recoverable_connection_errors),
        *(*connection.channel_errors, *connection.recoverable_channel_errors),
    )


def publish(name: str, body: list[Any], to: str, **options: Any) -> str | None:
    """Publish one Celery task; raise ``BrokerRefused`` when the broker did not take it.

    Outside a batch it returns once the broker has confirmed it, where it does; in a batch,
    at once and with the id by which the batch tells of it.
    """
    batch = current()
    try:
        if batch is not None:
            return batch.publish(name, body, to, **options)
        with current_app.producer_or_acquire() as producer, _dropped_when_refused(producer):
            options |= {"confirm_timeout": sas.reply_seconds}
            _put(producer, str(uuid4()), name, body, to, **options)
    except refusals() as error:
        raise BrokerRefused(f"{type(error).__name__}: {error}") from error
    return None


def _put(
    producer: Producer,
    task_id: str,
    name: str,
    body: list[Any],
    to: str,
    *,
    soft_time_limit: float | None = None,
    time_limit: float | None = None,
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
    # A queue that vanished answers instead of swallowing the message (``mandatory``).
    amqp.send_task_message(producer, name, message, queue=to, mandatory=True, **options)


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
    """Drop a connection over which a message did not leave, without a word.

    The pool would take its leave of the broker and wait for the answer, 10 s for the channel
    and 10 s for the connection, of a broker in alarm that reads nothing.
    """
    try:
        yield
    except BaseException:
        if producer.connection is not None:
            producer.connection.collect()
        raise


class _Confirming:
    """A connection of this process whose messages are confirmed in batches."""

    def __init__(self) -> None:
        self._pid = 0
        self._used_at = 0.0
        self._connection: Any = None
        self._producer: Any = None
        self._published = 0
        #: Queues that were declared over it.
        self._declared: set[str] = set()
        #: Delivery tag -> task id of what the broker has not answered for yet.
        self._awaited: dict[int, str] = {}
        #: Task id -> why the broker did not take it.
        self.refused: dict[str, str] = {}

    def begin(self) -> None:
        # Whoever sent the batch before may not have read its own yet.
        self.refused = {}
        if self._pid != os.getpid() or monotonic() - self._used_at > FRESH_SECONDS:
            self._drop("")

    def publish(self, name: str, body: list[Any], to: str, **options: Any) -> str:
        """Publish one task and return its id; raise what this transport raises."""
        task_id = str(uuid4())
        if self._producer is None:
            if self.refused:
                # One that broke in this batch is not opened again for the rest of it.
                raise BrokerRefused("the connection broke")
            self._open()
        if to in self._declared:
            options["declare"] = []
        # Sent again over another connection, the order of tags would be lost.
        options["retry"] = False
        try:
            _put(self._producer, task_id, name, body, to, **options)
        except BaseException as error:
            self.refused[task_id] = str(error)
            self._drop(f"{type(error).__name__}: {error}")
            raise
        self._declared.add(to)
        self._published += 1
        self._awaited[self._published] = task_id
        return task_id

    def confirm(self) -> None:
        """Wait until the broker has answered for every message, or the time for that is over."""
        until = monotonic() + sas.reply_seconds
        try:
            while self._awaited:
                self._connection.drain_events(timeout=max(0.01, until - monotonic()))
        except refusals() as error:
            self._drop(f"{type(error).__name__}: {error}")
        self._used_at = monotonic()

    def _open(self) -> None:
        options = {**current_app.conf.broker_transport_options, "confirm_publish": False}
        self._pid, self._used_at = os.getpid(), monotonic()
        self._connection = current_app.connection_for_write(transport_options=options)
        try:
            self._connection.ensure_connection(max_retries=1, timeout=sas.reply_seconds)
            channel = self._connection.default_channel
            channel.confirm_select()
        except BaseException:
            self._drop("")
            raise
        channel.events["basic_ack"].add(self._acknowledged)
        channel.events["basic_nack"].add(self._not_taken)
        channel.events["basic_return"].add(self._returned)
        self._producer = Producer(channel, auto_declare=False)
        self._published = 0
        self._declared.clear()

    def _acknowledged(self, tag: int, multiple: bool) -> None:
        for one in self._tags(tag, multiple):
            del self._awaited[one]

    def _not_taken(self, tag: int, multiple: bool) -> None:
        for one in self._tags(tag, multiple):
            self.refused[self._awaited.pop(one)] = "the broker refused it: is the queue full?"

    def _tags(self, tag: int, multiple: bool) -> list[int]:
        return [one for one in self._awaited if one == tag or (multiple and one < tag)]

    def _returned(self, error: Exception, exchange: str, queue: str, message: Any) -> None:
        # It comes before the confirm of the same message.
        self.refused[message.properties["correlation_id"]] = f"there is no queue {queue}"

    def _drop(self, reason: str) -> None:
        """Forget the connection; whether what it had not answered for arrived is unknown."""
        self.refused |= dict.fromkeys(self._awaited.values(), reason)
        self._awaited.clear()
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None and self._pid == os.getpid():
            with suppress(Exception):
                # A broker in alarm reads nothing, and a farewell would wait for its answer.
                connection.collect()
                connection.release()


_confirming = _Confirming()
_lock = threading.Lock()
_thread = threading.local()


def current() -> _Confirming | None:
    """Return the batch that this thread is in, if it is in one."""
    return getattr(_thread, "batch", None)


@contextmanager
def batch() -> Iterator[dict[str, str]]:
    """Publish what is published in this block without waiting, and wait at its end.

    Yields what was refused, and why, by the ids that publishing returned: complete once the
    block has ended.  A refused message may have arrived all the same.  Without confirms, and
    inside another batch, every message is published as it would be outside.
    """
    if current() is not None:
        yield {}
        return
    if not _has_confirms():
        yield {}
        _confirm(None)
        return
    with _lock:
        _confirming.begin()
        _thread.batch = _confirming
        try:
            yield _confirming.refused
        finally:
            _thread.batch = None
            _confirm(_confirming)


@around("publisher.confirm")
def _confirm(confirming: _Confirming | None) -> None:
    """Wait for what is to be confirmed; without, all has been sent, and a process may die here."""
    if confirming is not None:
        confirming.confirm()


@cache
def _has_confirms() -> bool:
    options = current_app.conf.broker_transport_options or {}
    is_amqp = current_app.connection_for_write().transport.driver_type == "amqp"
    return is_amqp and bool(options.get("confirm_publish"))
