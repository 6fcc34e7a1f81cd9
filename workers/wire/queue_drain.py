"""Drain a task's own queue: a task also takes waiting messages, so batches grow under load.

An idle queue has none, and nothing waits for more.  Works on every transport, because it is a
plain get on the queue that the task itself came from.  An AMQP broker returns with the first
message how many are behind it, and those are requested all at once.

A queue may hold messages of other tasks.  Those are returned to the broker unread, for Celery's
own consumer, and so is one of the task's own that is to run later (``eta``) or belongs to another
installation.  ``expires`` and revocation are ignored: a reply is valid as long as its claim holds,
and a late wake-up only causes the look that its task makes anyway.
"""

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from amqp import Channel, spec
from celery import current_app
from kombu import Connection, Message

from workers.conf import sas
from workers.exceptions import AWAY, first_line
from workers.runtime.failpoints import around
from workers.wire import neighbours

log = logging.getLogger(__name__)


class _Channel(threading.local):
    """One channel per thread, kept open between tasks; a forked child opens its own.

    One acknowledgement covers all messages of a channel, so no two tasks may share it at a time.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._connection: Connection | None = None
        self._channel: Any | None = None

    def get(self) -> Any:
        if self._channel is None or self._pid != os.getpid():
            # Calls of this process may have ended: a broker that hangs must not hold them up.
            limit = {"read_timeout": sas.reply_seconds}
            self._connection = current_app.connection_for_read(transport_options=limit)
            self._channel = self._connection.channel()
            self._pid = os.getpid()
        return self._channel

    def drop(self) -> None:
        """Drop the channel; the broker delivers its unacknowledged messages again."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and self._pid == os.getpid():
            try:
                # A proper close would wait for a broker that answers nothing.
                connection.collect()
                connection.release()
            except Exception:
                log.debug("channel_release_failed", exc_info=True)


_channel = _Channel()

#: The most messages of a queue that one look offers.
MOST_OFFERED = 5

#: The fields of the answer to a get.  Source: AMQP 0-9-1, basic.get-ok.
_FACTS = ("delivery_tag", "redelivered", "exchange", "routing_key", "message_count")


@contextmanager
def waiting(queue: str, task: str, limit: int) -> Iterator[Callable[..., list[list[Any]]]]:
    """Yield a function that takes messages of ``task`` from ``queue``, up to ``limit`` in all.

    It takes all that wait, or up to a given number, until it meets a message that this task may not
    take: that one goes back to the broker, and none behind it is taken, because the broker would
    return the same message again.

    The messages are acknowledged when the block ends without an exception.  When it raises, or the
    process dies, the broker delivers them again (except the filesystem transport, which loses
    them).  The function raises nothing: messages that cannot be taken are left for later.
    """
    messages: list[Message] = []
    is_over = False

    def take(most: int = limit) -> list[list[Any]]:
        nonlocal is_over
        if is_over:
            return []
        try:
            received = _get(_channel.get(), queue, (task,), min(most, limit - len(messages)))
            is_over = _return_others(received, (task,))
        except Exception as error:  # noqa: BLE001 (whatever it is, they are left for later)
            _log_failure(queue, error)
            # Dropping the channel also returns earlier messages: they will be delivered again.
            messages.clear()
            _channel.drop()
            return []
        except BaseException:
            # The messages will not be read, but a later acknowledgement would cover them.
            _channel.drop()
            raise
        own = [message for message in received if _is_of(message, (task,))]
        messages.extend(own)
        return _readable(own, queue)

    try:
        yield take
    except BaseException:
        if messages:
            _channel.drop()
        raise
    try:
        _acknowledge(messages)
    except Exception:
        log.warning("drained_unacknowledged", extra={"queue": queue}, exc_info=True)
        _channel.drop()


def take_one(queue: str, accepts: Mapping[str, Callable[[list[Any]], bool]]) -> bool | None:
    """Offer the next messages of a queue to the function for their task.  True: one was accepted.

    None: the broker gave no answer, which takes up to ``SAS_REPLY_SECONDS`` to find out.

    The function gets the task's arguments, and returns whether it takes the message, which is then
    acknowledged.  Other messages go back to the broker: up to ``MOST_OFFERED`` are tried, so that
    one that this process cannot take does not block those behind it.  Raises errors that mean that
    the database is unavailable.
    """
    rejected: list[Message] = []
    try:
        channel = _channel.get()
        while len(rejected) < MOST_OFFERED and (raw := channel.basic_get(queue)) is not None:
            message = _as_message(channel, raw)
            if _is_of(message, accepts):
                accept = accepts[message.headers["task"]]
                if all(map(accept, _readable([message], queue))):
                    _return_and_acknowledge(rejected, message)
                    return True
            rejected.append(message)
        _return_and_acknowledge(rejected, None)
    except AWAY:
        _channel.drop()
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, they are left for later)
        # Dropping the channel returns its messages: they will be delivered again.
        _log_failure(queue, error)
        _channel.drop()
        return None
    except BaseException:
        _channel.drop()
        raise
    return False


def _log_failure(queue: str, error: Exception) -> None:
    # A broker that is away fails every look: its traceback would say no more than the first line.
    fields = {"queue": queue, "reason": first_line(error)}
    log.warning("queue_drain_failed", extra=fields, exc_info=not isinstance(error, OSError))


@around("queue_drain.take_one")
def _return_and_acknowledge(rejected: list[Message], accepted: Message | None) -> None:
    for message in rejected:
        message.requeue()
    if accepted is not None:
        accepted.ack()


def count(queue: str) -> int | None:
    """Return how many untaken messages wait in a queue; None: unknown.

    Uses a separate connection, which is closed again: a parent process may fork at any time.
    """
    try:
        with current_app.connection_for_read() as connection:
            channel: Any = connection.channel()
            try:
                return int(channel.queue_declare(queue, passive=True).message_count)
            except connection.channel_errors:
                # The queue does not exist; outside AMQP, neither does an empty one.
                return 0
    except Exception:
        log.debug("queue_not_counted", extra={"queue": queue}, exc_info=True)
        return None


def _is_of(message: Message, tasks: Collection[str]) -> bool:
    """Say whether a message is for one of these tasks, due now, and from this installation."""
    headers = message.headers or {}
    if headers.get("task") not in tasks or headers.get("eta") is not None:
        return False
    return neighbours.foreign_sender(headers) is None


@around("queue_drain.return")
def _return_others(messages: list[Message], tasks: Collection[str]) -> bool:
    """Return messages to the broker that these tasks may not take; say whether there were any."""
    foreign = [message for message in messages if not _is_of(message, tasks)]
    for message in foreign:
        message.requeue()
    return bool(foreign)


def _get(channel: Any, queue: str, tasks: Collection[str], limit: int) -> list[Message]:
    """Get up to ``limit`` messages; request none behind one that the tasks may not take."""
    messages: list[Message] = []
    while len(messages) < limit:
        message = channel.basic_get(queue)
        if message is None:
            break
        portion = [_as_message(channel, message)]
        if isinstance(channel, Channel):
            count = min(message.delivery_info["message_count"], limit - len(messages) - 1)
            portion += [_as_message(channel, raw) for raw in _get_at_once(channel, queue, count)]
        messages += portion
        if not all(_is_of(message, tasks) for message in portion):
            break
    return messages


def _readable(messages: list[Message], queue: str) -> list[list[Any]]:
    arguments = []
    for message in messages:
        try:
            arguments.append(list(message.payload[0]))
        except Exception:
            # Acknowledged with the others: delivered again, it would be no more readable.
            log.exception("drained_message_unreadable", extra={"queue": queue})
    return arguments


def _as_message(channel: Any, raw: Any) -> Message:
    to_message = getattr(channel, "message_to_python", None)
    message: Message = to_message(raw) if to_message else raw
    message.accept = {"application/json"}
    return message


def _get_at_once(channel: Channel, queue: str, count: int) -> list[Any]:
    """Get up to ``count`` messages with as many requests, sent without waiting for each answer.

    ``Channel.basic_get`` does the same one by one, waiting for the broker each time.
    """
    for _ in range(count):
        channel.send_method(spec.Basic.Get, "Bsb", (0, queue, False))
    answers = [
        channel.wait([spec.Basic.GetOk, spec.Basic.GetEmpty], returns_tuple=True)
        for _ in range(count)
    ]
    messages = []
    for answer in answers:
        # The answer of an empty queue has one part or none.
        if answer and len(answer) > 1:
            *facts, message = answer
            message.channel = channel
            message.delivery_info = dict(zip(_FACTS, facts, strict=True))
            messages.append(message)
    return messages


@around("queue_drain.ack")
def _acknowledge(messages: list[Message]) -> None:
    if messages and isinstance(messages[-1].channel, Channel):
        # One acknowledgement for all: no other consumer uses this channel.
        messages[-1].ack(multiple=True)
        return
    for message in messages:
        message.ack()
