"""A connection for publishing, with the broker's confirm of each message.

Code that publishes over its own connection follows these rules:

- It connects on first use, within ``SAS_REPLY_SECONDS``, and again after ``FRESH_SECONDS`` without
  use or when the connection broke.  A forked process opens its own (``per_process``).
- Over AMQP a message counts as sent once the broker has confirmed it within the same time, and has
  not returned it because its queue does not exist.
- Other transports neither confirm nor return: a message counts as sent once it is published.  Nor
  do they limit queues: one with ``MOST_WAITING`` unread messages takes no more.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import Any

from kombu import Connection, Producer
from kombu.exceptions import OperationalError

from workers.conf import sas
from workers.exceptions import BrokerRefused, in_a_line

#: The broker closes idle connections: one idle for longer than this is not used again.
FRESH_SECONDS = 30.0
#: The most unread messages, if the broker cannot limit a queue itself.
MOST_WAITING = 10_000


def errors_of(connection: Connection) -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean that a transport did not take a message."""
    # A refusal by a full queue (nack) is only among the recoverable ones.
    return (
        *(OperationalError, OSError),
        *(*connection.connection_errors, *connection.recoverable_connection_errors),
        *(*connection.channel_errors, *connection.recoverable_channel_errors),
    )


class ConfirmedConnection:
    """A connection of this process, over which one thread at a time sends a message.

    ``connect`` returns a connection with the given transport options, not yet opened.
    """

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self._lock = threading.Lock()
        self._connect = connect
        self._used_at = 0.0
        self._connection: Any = None
        self._producer: Any = None
        #: The broker has not confirmed or refused the message yet.
        self._is_awaited = False
        #: Why the broker did not take the message.
        self._refusal: BrokerRefused | None = None

    def send(self, queue: str, body: bytes, **properties: Any) -> None:
        """Publish JSON to a queue and wait until the broker has taken it; raise ``BrokerRefused``.

        If the connection breaks, tries once more over a new one: the broker may have closed the
        first long ago.  Does not retry if the broker cannot be reached or is silent.
        """
        with self._lock:
            try:
                self._send(queue, body, properties)
            except BrokerRefused as refusal:
                if refusal.code != "broken":
                    raise
                self._send(queue, body, properties)

    def _send(self, queue: str, body: bytes, properties: dict[str, Any]) -> None:
        if monotonic() - self._used_at > FRESH_SECONDS:
            self.close()
        if self._connection is None:
            # Publish without py-amqp's own wait; see _have_confirmed.
            self._connection = self._connect(confirm_publish=False)
        try:
            if self._producer is None:
                self._open()
            _check_room(self._producer.channel, queue)
            self._refusal = None
            self._producer.publish(
                body,
                exchange="",
                routing_key=queue,
                content_type="application/json",
                content_encoding="utf-8",
                delivery_mode=2,
                mandatory=True,
                retry=False,
                **properties,
            )
            self._confirm()
        except BrokerRefused:
            raise
        except BaseException as error:
            errors, refusal = errors_of(self._connection), self._refusal_of(error)
            self.close()
            if isinstance(error, errors):
                raise refusal from error
            raise
        self._used_at = monotonic()
        if self._refusal is not None:
            raise self._refusal

    def _open(self) -> None:
        self._connection.ensure_connection(max_retries=1, timeout=sas.reply_seconds)
        channel = self._connection.default_channel
        if self._confirms():
            self._have_confirmed(channel)
        self._producer = Producer(channel, auto_declare=False)

    def _confirms(self) -> bool:
        return bool(self._connection.transport.driver_type == "amqp")

    def _have_confirmed(self, channel: Any) -> None:
        channel.confirm_select()
        channel.events["basic_ack"].add(self._acknowledged)
        channel.events["basic_nack"].add(self._not_taken)
        # A callback, not an exception: that would leave the confirm that follows a return unread,
        # and it would be taken for that of the next message.
        channel.events["basic_return"].add(self._returned)

    def _confirm(self) -> None:
        """Wait until the broker has answered for the message; raise ``TimeoutError``."""
        self._is_awaited, end = self._confirms(), monotonic() + sas.reply_seconds
        while self._is_awaited:
            self._connection.drain_events(timeout=max(0.01, end - monotonic()))

    def _refusal_of(self, error: BaseException) -> BrokerRefused:
        code = "broken"
        if self._producer is None:
            code = "away"
        elif isinstance(error, TimeoutError):
            code = "silent"
        elif isinstance(error, self._connection.channel_errors):
            # Only this message failed; the broker closes the channel.
            code = "failed"
        return BrokerRefused(in_a_line(error), code)

    def _acknowledged(self, tag: int, multiple: bool) -> None:
        self._is_awaited = False

    def _not_taken(self, tag: int, multiple: bool) -> None:
        self._is_awaited = False
        self._refusal = BrokerRefused("the broker refused it: is the queue full?", "queue_refused")

    def _returned(self, error: Exception, exchange: str, queue: str, message: Any) -> None:
        # The confirm of the same message follows.
        self._refusal = BrokerRefused(f"there is no queue {queue}", "no_queue")

    def close(self) -> None:
        """Drop the connection; whether an unconfirmed message has arrived is unknown."""
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                # A proper close would wait for a broker in alarm, which reads nothing.
                connection.collect()
                connection.release()


def _check_room(channel: Any, queue: str) -> None:
    count = getattr(channel, "_size", None)
    if count is not None and count(queue) >= MOST_WAITING:
        raise BrokerRefused(f"{MOST_WAITING} messages wait there already", "queue_refused")
