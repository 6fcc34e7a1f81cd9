"""A connection to publish over, and what the broker says of each message.

Whoever publishes over a connection of its own follows this rule:

- It is made when it is first needed, within ``SAS_REPLY_SECONDS``, and made again after
  ``FRESH_SECONDS`` without use and once it broke.  A forked process makes one of its own
  (``per_process``).
- Over AMQP a message is taken once the broker has confirmed it within the same time, and has not
  returned it for want of its queue.
- Other transports neither confirm nor return: a message is taken once it is handed over.  They
  limit no queue either: one in which ``MOST_WAITING`` wait unread takes no more.
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

#: The broker closes connections that say nothing for long: an older one is not trusted.
FRESH_SECONDS = 30.0
#: Messages that nobody reads, where the broker cannot limit a queue itself.
MOST_WAITING = 10_000

Errors = tuple[type[BaseException], ...]


def errors_of(connection: Connection) -> Errors:
    """Return the exceptions by which a transport says that it did not take a message."""
    # A refusal by a full queue (nack) is among those that one may recover from alone.
    return (
        *(OperationalError, OSError),
        *(*connection.connection_errors, *connection.recoverable_connection_errors),
        *(*connection.channel_errors, *connection.recoverable_channel_errors),
    )


class ConfirmedConnection:
    """A connection of this process, used by one thread at a time: ``lock`` is theirs to take.

    ``connect`` returns a connection that is not yet opened, with the transport options that it
    is given.
    """

    def __init__(self, connect: Callable[..., Connection]) -> None:
        self.lock = threading.Lock()
        #: Message id -> why the broker did not take it.
        self.refused: dict[str, BrokerRefused] = {}
        #: Queues that were declared over it.
        self.declared: set[str] = set()
        self._connect = connect
        self._used_at = 0.0
        self._connection: Any = None
        self._producer: Any = None
        self._published = 0
        #: Delivery tag -> id of what the broker has not answered for yet.
        self._awaited: dict[int, str] = {}

    def send(self, queue: str, body: bytes, **properties: Any) -> None:
        """Publish JSON to a queue and wait until it is taken; raise ``BrokerRefused``.

        What broke with its connection goes once more over a new one: the broker may have closed
        the first long ago.  A broker that is not reached, or is silent, is not asked again.
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
        """Begin with messages that are confirmed together: nothing is refused yet."""
        if monotonic() - self._used_at > FRESH_SECONDS:
            self.close()
        # Another one: whoever sent those before may not have read what became of them.
        self.refused = {}

    @property
    def is_open(self) -> bool:
        return self._producer is not None

    def open(self) -> None:
        """Connect unless that is done; raise ``BrokerRefused`` where the broker is not reached."""
        if self.is_open:
            return
        self._used_at = monotonic()
        # Published without waiting: the confirms of several are waited for together.
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
        # A callback and no exception: that would leave the confirm behind which follows a return,
        # to be taken for that of the next message.
        channel.events["basic_return"].add(self._returned)

    def publish(self, message_id: str, put: Callable[[Producer], object]) -> None:
        """Have ``put`` publish one message over the open connection.

        Raises ``BrokerRefused``, or what ``put`` raises that is none of the broker's; else
        ``confirm`` finds out what becomes of the message.
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
        """Wait until the broker has answered for every message, or the time for that is over."""
        until = monotonic() + sas.reply_seconds
        try:
            while self._awaited:
                self._connection.drain_events(timeout=max(0.01, until - monotonic()))
        except errors_of(self._connection) as error:
            self.close(self._refusal_of(error))
        self._used_at = monotonic()

    def _refusal_of(self, error: BaseException) -> BrokerRefused:
        code = "broken"
        if isinstance(error, TimeoutError):
            code = "silent"
        elif isinstance(error, self._connection.channel_errors):
            # This message alone failed; the broker closes the channel.
            code = "failed"
        return BrokerRefused(in_a_line(error), code)

    def _acknowledged(self, tag: int, multiple: bool) -> None:
        for answered in self._tags(tag, multiple):
            del self._awaited[answered]

    def _not_taken(self, tag: int, multiple: bool) -> None:
        for answered in self._tags(tag, multiple):
            self.refused[self._awaited.pop(answered)] = BrokerRefused(
                "the broker refused it: is the queue full?", "queue_refused"
            )

    def _tags(self, tag: int, multiple: bool) -> list[int]:
        return [sent for sent in self._awaited if sent == tag or (multiple and sent < tag)]

    def _returned(self, error: Exception, exchange: str, queue: str, message: Any) -> None:
        # It comes before the confirm of the same message.  Those that are sent together are tasks,
        # which have their id there; any other is awaited alone.
        named = message.properties.get("correlation_id")
        awaited = list(self._awaited.values())
        self.refused[named if named in awaited else awaited[-1]] = BrokerRefused(
            f"there is no queue {queue}", "no_queue"
        )

    def close(self, refusal: BrokerRefused | None = None) -> None:
        """Forget the connection; whether what it had not answered for arrived is unknown."""
        if self._awaited:
            reason = refusal or BrokerRefused("the connection was closed", "broken")
            self.refused |= dict.fromkeys(self._awaited.values(), reason)
            self._awaited.clear()
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                # A broker in alarm reads nothing, and a proper close would wait for its answer.
                connection.collect()
                connection.release()


def _check_room(channel: Any, queue: str) -> None:
    count = getattr(channel, "_size", None)
    if count is not None and count(queue) >= MOST_WAITING:
        raise BrokerRefused(f"{MOST_WAITING} messages wait there already", "queue_refused")
