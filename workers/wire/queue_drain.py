"""Draining a task's own queue: it takes along what waits there, so batches grow under load.

At idle there are none and nothing is waited for.  Works on every transport, because it is
a plain get on the queue that the task itself came from.  A broker that speaks AMQP says with the
first message how many there are behind it, and is asked for those all at once.

A queue may hold messages of other tasks.  Those are returned to the broker unread, for Celery's
own consumer, and so is one of the task's own that is to run later (``eta``) or is another
installation's.  ``expires`` and
revocation are not looked at: a reply is good as long as its claim holds, and a wake-up that comes
late asks for nothing but the look that its task takes in any case.
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

from workers.exceptions import AWAY
from workers.runtime.failpoints import around
from workers.wire import neighbours

log = logging.getLogger(__name__)


class _Channel(threading.local):
    """One channel per thread, kept open between tasks; a forked child opens its own.

    One acknowledgement covers all that came over it, so no two tasks may share it at a time.
    """

    def __init__(self) -> None:
        self._pid = 0
        self._connection: Connection | None = None
        self._channel: Any | None = None

    def get(self) -> Any:
        if self._channel is None or self._pid != os.getpid():
            self._connection = current_app.connection_for_read()
            self._channel = self._connection.channel()
            self._pid = os.getpid()
        return self._channel

    def drop(self) -> None:
        """Forget the channel; what it had not acknowledged is delivered again."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and self._pid == os.getpid():
            try:
                connection.release()
            except Exception:
                log.debug("channel_release_failed", exc_info=True)


_channel = _Channel()

#: Messages of a queue that one look offers.
MOST_OFFERED = 5

#: What a broker says with a message that was asked for.  Source: AMQP 0-9-1, basic.get-ok.
_FACTS = ("delivery_tag", "redelivered", "exchange", "routing_key", "message_count")


@contextmanager
def waiting(queue: str, task: str, limit: int) -> Iterator[Callable[..., list[list[Any]]]]:
    """Yield a function that takes messages of ``task`` from ``queue``, up to ``limit`` in all.

    It takes all that wait, or as many of them as it is told, until it meets a message that is
    not this task's to take: that one goes back to the broker, and nothing is taken behind it.
    Asked again, the broker would hand out the same message.

    They are acknowledged when the block ends well.  When it raises, or the process dies,
    the broker delivers them again (the filesystem transport does not: what it had handed
    out is lost).  The function raises nothing: what cannot be taken is left for later.
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
        except Exception:
            log.warning("queue_drain_failed", extra={"queue": queue}, exc_info=True)
            # With the channel goes what came over it before: that comes again, too.
            messages.clear()
            _channel.drop()
            return []
        except BaseException:
            # Nobody will look at what came, and the next acknowledgement over it would cover that.
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


def take_one(queue: str, accepts: Mapping[str, Callable[[list[Any]], bool]]) -> bool:
    """Offer the next messages of a queue to who accepts their task.  True: one was accepted.

    Each gets the task's arguments, and says whether it takes the message, which is acknowledged
    then.  What nobody takes goes back to the broker: the next ``MOST_OFFERED`` are looked at, so
    that one which nobody here can take holds up none behind it.  Raises what says that the
    database is away.
    """
    left: list[Message] = []
    try:
        channel = _channel.get()
        while len(left) < MOST_OFFERED and (raw := channel.basic_get(queue)) is not None:
            message = _as_message(channel, raw)
            if _is_of(message, accepts):
                accept = accepts[message.headers["task"]]
                if all(map(accept, _readable([message], queue))):
                    _return_and_acknowledge(left, message)
                    return True
            left.append(message)
        _return_and_acknowledge(left, None)
    except AWAY:
        _channel.drop()
        raise
    except Exception:
        # With the channel goes what came over it: that comes again.
        log.warning("queue_drain_failed", extra={"queue": queue}, exc_info=True)
        _channel.drop()
    except BaseException:
        _channel.drop()
        raise
    return False


@around("queue_drain.take_one")
def _return_and_acknowledge(left: list[Message], taken: Message | None) -> None:
    for message in left:
        message.requeue()
    if taken is not None:
        taken.ack()


def count(queue: str) -> int | None:
    """Return how many messages wait in a queue, taken by nobody yet; None: nobody can say.

    Over a connection of its own, which is closed again: a parent process may fork at any time.
    """
    try:
        with current_app.connection_for_read() as connection:
            channel: Any = connection.channel()
            try:
                return int(channel.queue_declare(queue, passive=True).message_count)
            except connection.channel_errors:
                # There is none; elsewhere than in AMQP an empty one is none.
                return 0
    except Exception:
        log.debug("queue_not_counted", extra={"queue": queue}, exc_info=True)
        return None


def _is_of(message: Message, tasks: Collection[str]) -> bool:
    """Say whether a message asks for one of these tasks, and now, and is of this installation."""
    headers = message.headers or {}
    if headers.get("task") not in tasks or headers.get("eta") is not None:
        return False
    return neighbours.foreign_sender(headers) is None


@around("queue_drain.return")
def _return_others(messages: list[Message], tasks: Collection[str]) -> bool:
    """Return to the broker what is not these tasks' to take; say whether there was any."""
    others = [message for message in messages if not _is_of(message, tasks)]
    for message in others:
        message.requeue()
    return bool(others)


def _get(channel: Any, queue: str, tasks: Collection[str], limit: int) -> list[Message]:
    """Get up to ``limit`` messages; none is asked for behind one that is not the tasks'."""
    messages: list[Message] = []
    while len(messages) < limit:
        message = channel.basic_get(queue)
        if message is None:
            break
        portion = [_as_message(channel, message)]
        if isinstance(channel, Channel):
            behind = min(message.delivery_info["message_count"], limit - len(messages) - 1)
            portion += [_as_message(channel, raw) for raw in _get_at_once(channel, queue, behind)]
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
            # Acknowledged with the others: read again it would be no better.
            log.exception("drained_message_unreadable", extra={"queue": queue})
    return arguments


def _as_message(channel: Any, raw: Any) -> Message:
    to_message = getattr(channel, "message_to_python", None)
    message: Message = to_message(raw) if to_message else raw
    message.accept = {"application/json"}
    return message


def _get_at_once(channel: Channel, queue: str, count: int) -> list[Any]:
    """Get up to ``count`` messages by as many requests, sent without waiting for each answer.

    As ``Channel.basic_get`` does one by one: each of those waits for the broker.
    """
    for _ in range(count):
        channel.send_method(spec.Basic.Get, "Bsb", (0, queue, False))
    answers = [
        channel.wait([spec.Basic.GetOk, spec.Basic.GetEmpty], returns_tuple=True)
        for _ in range(count)
    ]
    messages = []
    for answer in answers:
        # An empty queue's answer has one part, or none.
        if answer and len(answer) > 1:
            *facts, message = answer
            message.channel = channel
            message.delivery_info = dict(zip(_FACTS, facts, strict=True))
            messages.append(message)
    return messages


@around("queue_drain.ack")
def _acknowledge(messages: list[Message]) -> None:
    if messages and isinstance(messages[-1].channel, Channel):
        # One answer for all: this channel delivers to nobody else.
        messages[-1].ack(multiple=True)
        return
    for message in messages:
        message.ack()
