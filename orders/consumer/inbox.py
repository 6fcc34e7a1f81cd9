"""The submission queue at the broker: messages taken, and acknowledged one by one."""

import logging
import time
from contextlib import closing, suppress
from typing import Any

from django.conf import settings
from kombu import Connection

from orders.consumer import envelopes
from orders.consumer.message import Message
from orders.consumer.turns import Turns
from workers.exceptions import first_line

log = logging.getLogger(__name__)

QUEUE = "orders.submissions"
#: Taken at once: the window in which senders have their turns.
PREFETCH = 2_000
#: Where what a dead consumer held comes again late, no more than this is held.
PREFETCH_OF_OTHERS = 20
#: Bytes held at once, and one message more.
MOST_BYTES = 32 * 1_048_576
#: How often is looked for what has arrived while there is something to handle.
LOOK_SECONDS = 0.02
NOT_FOUND = 404


class Inbox:
    """A connection that takes messages into ``waiting``: in the order of the queue for each sender.

    What is not acknowledged goes back to the queue when the connection ends.
    """

    def __init__(self, url: str = "", queue: str = QUEUE) -> None:
        self.waiting = Turns()
        self._url = url
        self._queue = queue
        self._connection: Connection | None = None
        self._channel: Any = None
        self._beat_at = 0.0
        self._look_at = 0.0

    def open(self) -> None:
        """Connect, make the queue if it is missing, and begin to take messages."""
        self._connection = connect(self._url)
        self._connection.connect()
        _ensure_queue(self._connection, self._queue)
        self._channel = self._connection.channel()
        prefetch = _prefetch(self._connection.transport.driver_type)
        self._channel.basic_qos(0, prefetch, False)
        envelopes.consume(self._channel, self._queue, self.waiting.append)

    def wait(self, seconds: float) -> None:
        """Wait for a message, and keep the connection alive; raise when it is lost."""
        assert self._connection is not None
        self._beat()
        try:
            self._connection.drain_events(timeout=max(0.01, seconds))
        except TimeoutError:
            return

    def fetch(self) -> None:
        """Take what has arrived, as far as there is room, and wait for nothing."""
        assert self._connection is not None
        if time.monotonic() < self._look_at:
            return
        self._beat()
        while len(self.waiting) < PREFETCH and self.waiting.bytes < MOST_BYTES:
            try:
                self._connection.drain_events(timeout=0.001)
            except TimeoutError:
                break
        self._look_at = time.monotonic() + LOOK_SECONDS

    def ack(self, message: Message) -> None:
        """Have the broker forget a message."""
        self._channel.basic_ack(message.tag)

    def is_trouble(self, error: BaseException) -> bool:
        """Say whether an exception tells of the broker or the way to it."""
        found = self._connection
        known: tuple[type[BaseException], ...] = (OSError,)
        if found is not None:
            known += (*found.connection_errors, *found.channel_errors)
        return isinstance(error, known)

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        self.waiting.clear()
        connection, self._connection, self._channel = self._connection, None, None
        if connection is None:
            return
        # It is over either way.
        with suppress(Exception):
            connection.release()

    def _beat(self) -> None:
        assert self._connection is not None
        interval = self._connection.get_heartbeat_interval() or 0
        if interval and time.monotonic() >= self._beat_at:
            self._beat_at = time.monotonic() + interval / 4
            self._connection.heartbeat_check()


def _prefetch(driver: str) -> int:
    if driver == "amqp":
        return PREFETCH
    # Files vanish when they are read: one that is not in hand would be lost with us.
    return 1 if driver == "filesystem" else PREFETCH_OF_OTHERS


def connect(url: str = "", **options: Any) -> Connection:
    """Return a connection to the system's broker, not yet opened."""
    return Connection(
        url or settings.CELERY_BROKER_URL,
        connect_timeout=settings.CELERY_BROKER_CONNECTION_TIMEOUT,
        heartbeat=settings.CELERY_BROKER_HEARTBEAT,
        transport_options={**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **options},
    )


def _ensure_queue(connection: Connection, queue: str) -> None:
    """Make the queue; one that exists is taken as it is, a quorum queue for example."""
    if not _is_there(connection, "queue_declare", queue):
        with closing(_channel(connection)) as channel:
            channel.queue_declare(queue, durable=True, auto_delete=False)
    if connection.transport.driver_type == "amqp":
        _ensure_exchange(connection, queue)


def _ensure_exchange(connection: Connection, queue: str) -> None:
    """Make an exchange that leads to this queue alone.

    A login that may write to it need not be able to write to the default exchange, by which
    it would reach every queue there is.
    """
    try:
        is_there = _is_there(connection, "exchange_declare", queue, type="fanout")
        with closing(_channel(connection)) as channel:
            if not is_there:
                channel.exchange_declare(queue, "fanout", durable=True, auto_delete=False)
            # Always: a queue that vanished has taken its binding along.
            channel.queue_bind(queue, queue)
    except connection.channel_errors as error:
        # Orders come without it, too.
        log.warning("exchange_not_made", extra={"exchange": queue, "reason": first_line(error)})


def _is_there(connection: Connection, declare: str, name: str, **options: Any) -> bool:
    channel = _channel(connection)
    try:
        getattr(channel, declare)(name, passive=True, **options)
    except connection.channel_errors as error:
        # The refusal has closed the channel.
        if str(getattr(error, "reply_code", getattr(error, "code", ""))) != str(NOT_FOUND):
            raise
        return False
    channel.close()
    return True


def _channel(connection: Connection) -> Any:
    return connection.channel()
