"""The submission queue at the broker: messages are prefetched and acknowledged one by one."""

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
#: Messages prefetched over AMQP: the window within which senders take turns.
PREFETCH = 2_000
#: The same for transports that redeliver a dead consumer's messages only after a timeout.
PREFETCH_OF_OTHERS = 20
#: No further message is taken beyond this many bytes.
MOST_BYTES = 32 * 1_048_576
#: How often new messages are fetched while others wait.
LOOK_SECONDS = 0.02
NOT_FOUND = 404


class Inbox:
    """A connection that takes messages into ``waiting``, in queue order per sender.

    Messages that are not acknowledged return to the queue when the connection ends.
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
        """Connect, declare the queue if it is missing, and start consuming."""
        self._connection = connect(self._url)
        self._connection.connect()
        _ensure_queue(self._connection, self._queue)
        self._channel = self._connection.channel()
        prefetch = _prefetch(self._connection.transport.driver_type)
        self._channel.basic_qos(0, prefetch, False)
        envelopes.consume(self._channel, self._queue, self.waiting.append)

    def wait(self, seconds: float) -> None:
        """Wait for a message and keep the connection alive; raise if it is lost."""
        assert self._connection is not None
        self._beat()
        try:
            self._connection.drain_events(timeout=max(0.01, seconds))
        except TimeoutError:
            return

    def fetch(self) -> None:
        """Take the messages that have arrived, up to the limits, without waiting for more."""
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
        """Acknowledge a message."""
        self._channel.basic_ack(message.tag)

    def is_broker_error(self, error: BaseException) -> bool:
        """Say whether an exception comes from the broker or the connection to it."""
        connection = self._connection
        kinds: tuple[type[BaseException], ...] = (OSError,)
        if connection is not None:
            kinds += (*connection.connection_errors, *connection.channel_errors)
        return isinstance(error, kinds)

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        self.waiting.clear()
        connection, self._connection, self._channel = self._connection, None, None
        if connection is None:
            return
        # The connection is gone either way.
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
    # Files are deleted when they are read: a prefetched message would be lost with this process.
    return 1 if driver == "filesystem" else PREFETCH_OF_OTHERS


def connect(url: str = "", **options: Any) -> Connection:
    """Return an unopened connection to the system's broker."""
    return Connection(
        url or settings.CELERY_BROKER_URL,
        connect_timeout=settings.CELERY_BROKER_CONNECTION_TIMEOUT,
        heartbeat=settings.CELERY_BROKER_HEARTBEAT,
        transport_options={**settings.CELERY_BROKER_TRANSPORT_OPTIONS, **options},
    )


def _ensure_queue(connection: Connection, queue: str) -> None:
    """Declare the queue unless it exists; an existing one may differ, such as a quorum queue."""
    if not _exists(connection, "queue_declare", queue):
        with closing(_channel(connection)) as channel:
            channel.queue_declare(queue, durable=True, auto_delete=False)
    if connection.transport.driver_type == "amqp":
        _ensure_exchange(connection, queue)


def _ensure_exchange(connection: Connection, queue: str) -> None:
    """Declare an exchange that routes to this queue only.

    A login that may write to it needs no access to the default exchange, which reaches every queue.
    """
    try:
        is_there = _exists(connection, "exchange_declare", queue, type="fanout")
        with closing(_channel(connection)) as channel:
            if not is_there:
                channel.exchange_declare(queue, "fanout", durable=True, auto_delete=False)
            # Always: a deleted queue has lost its binding.
            channel.queue_bind(queue, queue)
    except connection.channel_errors as error:
        # Orders arrive without it, too.
        log.warning("exchange_not_made", extra={"exchange": queue, "reason": first_line(error)})


def _exists(connection: Connection, declare: str, name: str, **options: Any) -> bool:
    channel = _channel(connection)
    try:
        getattr(channel, declare)(name, passive=True, **options)
    except connection.channel_errors as error:
        # The error has closed the channel.
        if str(getattr(error, "reply_code", getattr(error, "code", ""))) != str(NOT_FOUND):
            raise
        return False
    channel.close()
    return True


def _channel(connection: Connection) -> Any:
    return connection.channel()
