"""Take waiting wake-ups from a queue beside Celery's own consumer: one look answers them all.

Works on every transport, because it is a plain get on a queue that the worker serves anyway.  A
queue may hold messages of other tasks, and of other installations: those, and one that is to run
later (``eta``), go back to the broker unread.  ``expires`` and revocation are ignored: a late
wake-up only causes the look that its task makes anyway.
"""

import logging
import os
import threading
from collections.abc import Collection
from math import ceil
from typing import Any

from celery import current_app
from kombu import Connection, Message

from workers.conf import sas
from workers.exceptions import first_line
from workers.runtime.failpoints import around
from workers.wire import neighbours

log = logging.getLogger(__name__)


class _Channel(threading.local):
    """One channel per thread, kept open between tasks; a forked child opens its own."""

    def __init__(self) -> None:
        self._pid = 0
        self._connection: Connection | None = None
        self._channel: Any | None = None

    def get(self) -> Any:
        if self._channel is None or self._pid != os.getpid():
            # Calls of this process may have ended: a broker that hangs must not hold them up.
            limit = {"read_timeout": sas.reply_seconds}
            self._connection = current_app.connection_for_read(transport_options=limit)
            # Kombu's own first connection tries again after 2 s.
            self._connection.ensure_connection(
                max_retries=1, interval_start=0, timeout=ceil(sas.reply_seconds)
            )
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

#: The most messages of others that one look returns to the broker.
MOST_OFFERED = 5
#: The most wake-ups that one look takes.
MOST = 1000


def take_one(queue: str, tasks: Collection[str]) -> str | None:
    """Take the next message of one of these tasks off a queue; return its task; "" if none waits.

    None: the broker gave no answer, which takes up to ``SAS_REPLY_SECONDS`` to find out.  Other
    messages go back to the broker: up to ``MOST_OFFERED`` are looked at, so that one of others does
    not block those behind it.  Raises nothing.
    """
    returned: list[Message] = []
    try:
        channel = _channel.get()
        while len(returned) < MOST_OFFERED and (raw := channel.basic_get(queue)) is not None:
            message = _as_message(channel, raw)
            if _is_of(message, tasks):
                _return_and_acknowledge(returned, message)
                return str(message.headers["task"])
            returned.append(message)
        _return_and_acknowledge(returned, None)
    except Exception as error:  # noqa: BLE001 (whatever it is, they are left for later)
        # Dropping the channel returns its messages: they will be delivered again.
        _log_failure(queue, error)
        _channel.drop()
        return None
    except BaseException:
        _channel.drop()
        raise
    return ""


def take_all(queue: str, task: str, most: int = MOST) -> bool | None:
    """Take the waiting messages of a task; say whether there were any; None: no answer."""
    is_taken = False
    for _ in range(most):
        taken = take_one(queue, {task})
        if taken is None:
            return None
        if not taken:
            break
        is_taken = True
    return is_taken


def _log_failure(queue: str, error: Exception) -> None:
    # A broker that is away fails every look: its traceback would say no more than the first line.
    fields = {"queue": queue, "reason": first_line(error)}
    log.warning("queue_drain_failed", extra=fields, exc_info=not isinstance(error, OSError))


@around("queue_drain.take_one")
def _return_and_acknowledge(returned: list[Message], taken: Message | None) -> None:
    for message in returned:
        message.requeue()
    if taken is not None:
        taken.ack()


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


def _as_message(channel: Any, raw: Any) -> Message:
    to_message = getattr(channel, "message_to_python", None)
    message: Message = to_message(raw) if to_message else raw
    message.accept = {"application/json"}
    return message
