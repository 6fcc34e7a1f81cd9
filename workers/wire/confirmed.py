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
from uuid import uuid4

from kombu import Connection, Producer
from kombu.exceptions import OperationalError

from workers.conf import sas
from workers.exceptions import BrokerRefused, in_a_line

#: The broker closes idle connections: one idle for longer than this is not used again.
FRESH_SECONDS = 30.0
#: The most unread messages, if the broker cannot limit a queue itself.
MOST_WAITING = 10_000

Errors = tuple[type[BaseException], ...]


def errors_of(connection: Connection) -> Errors:
    """Return the exceptions that mean that a transport did not take a message."""
    # A refusal by a full queue (nack) is only among the recoverable ones.
    return (
        *(OperationalError, OSError),
        *(*connection.connection_errors, *connection.recoverable_connection_errors),
        *(*connection.channel_errors, *connection.recoverable_channel_errors),
    )


class ConfirmedConnection:
    """A connection of this process, used by one thread at a time, which must take ``lock``.

    ``connect`` returns a connection with the given transport options, not yet opened.
    """

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self.lock = threading.Lock()
        #: Message id -> why the broker did not take it.
        self.refused: dict[str, BrokerRefused] = {}
        #: Queues declared over this connection.
        self.declared: set[str] = set()
        self._connect = connect
        self._used_at = 0.0
        self._connection: Any = None
        self._producer: Any = None
        self._published = 0
        #: Delivery tag -> id of a message that the broker has not confirmed or refused yet.
        self._awaited: dict[int, str] = {}

    def send(self, queue: str, body: bytes, **properties: Any) -> None:
        """Publish JSON to a queue and wait until the broker has taken it; raise ``BrokerRefused``.

        If the connection breaks, tries once more over a new one: the broker may have closed the
        first long ago.  Does not retry if the broker cannot be reached or is silent.
        """
        with self.lock:
            try:
                self._send(queue, body, properties)
            except BrokerRefused as refusal:
                if refusal.code != "broken":
                    raise
                self._send(queue, body, properties)

    def _send(self, queue: str, body: bytes, properties: dict[str, Any]) -> None:
        def put(producer: Producer) -> None:
            _check_room(producer.channel, queue)
            producer.publish(
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

        self.begin()
        self.open()
        message_id = str(uuid4())
        self.publish(message_id, put)
        self.confirm()
        if message_id in self.refused:
            raise self.refused[message_id]

    def begin(self) -> None:
        """Begin a set of messages that are confirmed together: none is refused yet."""
        if monotonic() - self._used_at > FRESH_SECONDS:
            self.close()
        # A new dict: the sender of the previous messages may not have read the old one yet.
        self.refused = {}

    @property
    def is_open(self) -> bool:
        return self._producer is not None

    def open(self) -> None:
        """Connect unless connected; raise ``BrokerRefused`` if the broker cannot be reached."""
        if self.is_open:
            return
        self._used_at = monotonic()
        # Publish without waiting: the confirms of several messages are awaited together.
        self._connection = self._connect(confirm_publish=False)
        try:
            self._connection.ensure_connection(max_retries=1, timeout=sas.reply_seconds)
            channel = self._connection.default_channel
            if self._connection.transport.driver_type == "amqp":
                self._have_confirmed(channel)
            self._producer = Producer(channel, auto_declare=False)
        except BaseException as error:
            errors = errors_of(self._connection)
            self.close()
            if isinstance(error, errors):
                raise BrokerRefused(in_a_line(error)) from error
            raise
        self._published = 0
        self.declared.clear()

    def _have_confirmed(self, channel: Any) -> None:
        channel.confirm_select()
        channel.events["basic_ack"].add(self._acknowledged)
        channel.events["basic_nack"].add(self._not_taken)
        # A callback, not an exception: that would leave the confirm that follows a return unread,
        # and it would be taken for that of the next message.
        channel.events["basic_return"].add(self._returned)

    def publish(self, message_id: str, put: Callable[[Producer], object]) -> None:
        """Let ``put`` publish one message over the open connection.

        Raises ``BrokerRefused``, or an exception of ``put`` that is not the broker's; otherwise
        ``confirm`` finds out whether the broker takes the message.
        """
        try:
            put(self._producer)
        except BrokerRefused:
            raise
        except BaseException as error:
            refusal = self.refused[message_id] = self._refusal_of(error)
            is_of_the_broker = isinstance(error, errors_of(self._connection))
            self.close(refusal)
            if is_of_the_broker:
                raise refusal from error
            raise
        if self._connection.transport.driver_type == "amqp":
            self._published += 1
            self._awaited[self._published] = message_id

    def confirm(self) -> None:
        """Wait until the broker has answered for every message, or the time is over."""
        end = monotonic() + sas.reply_seconds
        try:
            while self._awaited:
                self._connection.drain_events(timeout=max(0.01, end - monotonic()))
        except errors_of(self._connection) as error:
            self.close(self._refusal_of(error))
        self._used_at = monotonic()

    def _refusal_of(self, error: BaseException) -> BrokerRefused:
        code = "broken"
        if isinstance(error, TimeoutError):
            code = "silent"
        elif isinstance(error, self._connection.channel_errors):
            # Only this message failed; the broker closes the channel.
            code = "failed"
        return BrokerRefused(in_a_line(error), code)

    def _acknowledged(self, tag: int, multiple: bool) -> None:
        for confirmed in self._tags(tag, multiple):
            del self._awaited[confirmed]

    def _not_taken(self, tag: int, multiple: bool) -> None:
        for refused in self._tags(tag, multiple):
            self.refused[self._awaited.pop(refused)] = BrokerRefused(
                "the broker refused it: is the queue full?", "queue_refused"
            )

    def _tags(self, tag: int, multiple: bool) -> list[int]:
        return [
            awaited for awaited in self._awaited if awaited == tag or (multiple and awaited < tag)
        ]

    def _returned(self, error: Exception, exchange: str, queue: str, message: Any) -> None:
        # A return comes before the confirm of the same message.  Messages sent together are tasks,
        # whose id is the correlation_id; any other message is awaited alone.
        message_id = message.properties.get("correlation_id")
        awaited = list(self._awaited.values())
        self.refused[message_id if message_id in awaited else awaited[-1]] = BrokerRefused(
            f"there is no queue {queue}", "no_queue"
        )

    def close(self, refusal: BrokerRefused | None = None) -> None:
        """Drop the connection; whether unconfirmed messages have arrived is unknown."""
        if self._awaited:
            reason = refusal or BrokerRefused("the connection was closed", "broken")
            self.refused |= dict.fromkeys(self._awaited.values(), reason)
            self._awaited.clear()
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
