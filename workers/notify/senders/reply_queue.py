"""Telling by message: the broker's default exchange, to the queue the submitter reads.

On RabbitMQ a message counts as sent once the broker has confirmed that it is in that queue.
Other transports have neither confirms nor returns: there it counts once it is handed over.
"""

import logging
import os
import threading
from contextlib import suppress
from typing import Any

from amqp.exceptions import MessageNacked
from celery import current_app
from kombu import Producer
from kombu.exceptions import OperationalError

from workers.conf import sas
from workers.notify.senders.delivery import Letter, NotSent, Undelivered

log = logging.getLogger(__name__)


class QueueSender:
    """A connection of its own to the broker, made when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = 0
        self._producer: Any = None
        self._connection: Any = None
        self._returned: list[Any] = []

    def __call__(self, letter: Letter) -> None:
        """Publish one message; raise ``Undelivered`` or ``NotSent``."""
        with self._lock:
            is_fresh = self._open()
            try:
                self._publish(letter)
                return
            except self._lost() as error:
                self._drop()
                if is_fresh:
                    raise NotSent(f"{type(error).__name__}: {error}"[:200]) from error
            # The connection was idle, and the broker may have closed it long ago.
            self._open()
            try:
                self._publish(letter)
            except self._lost() as error:
                self._drop()
                raise NotSent(f"{type(error).__name__}: {error}"[:200]) from error

    def _publish(self, letter: Letter) -> None:
        self._returned.clear()
        try:
            self._producer.publish(
                letter.body,
                exchange="",
                routing_key=letter.address,
                content_type="application/json",
                content_encoding="utf-8",
                delivery_mode=2,
                # Unroutable comes back; without a confirm to wait for, it would come too late.
                mandatory=True,
                confirm_timeout=sas.reply_seconds,
                message_id=letter.id,
                type=letter.type,
                **({"correlation_id": letter.correlation_id} if letter.correlation_id else {}),
            )
        except MessageNacked:
            raise Undelivered("queue_refused") from None
        except self._connection.channel_errors as error:
            # Of this message alone; the channel is closed by it.
            self._drop()
            raise Undelivered("failed", error=f"{type(error).__name__}: {error}"[:180]) from error
        if self._returned:
            raise Undelivered("no_queue")

    def _open(self) -> bool:
        """Connect unless that is done; return whether it was not."""
        if self._producer is not None and self._pid == os.getpid():
            return False
        self._pid = os.getpid()
        self._connection = current_app.connection_for_write()
        try:
            self._connection.ensure_connection(max_retries=1, timeout=sas.reply_seconds)
            channel = self._connection.channel()
            # Only AMQP gives back.  Returned messages are looked for after the confirm: as an
            # exception, a return would leave its confirm behind, to be taken for that of the
            # next message.
            if hasattr(channel, "events"):
                channel.events["basic_return"].add(lambda *facts: self._returned.append(facts))
            self._producer = Producer(channel, auto_declare=False)
        except self._lost() as error:
            self._drop()
            raise NotSent(f"{type(error).__name__}: {error}"[:200]) from error
        return True

    def _lost(self) -> tuple[type[BaseException], ...]:
        """Return the exceptions by which this transport says that the broker is away."""
        return (OperationalError, OSError, *self._connection.connection_errors)

    def _drop(self) -> None:
        """Forget the connection."""
        connection, self._producer = self._connection, None
        if connection is not None:
            with suppress(Exception):
                # A broker in alarm reads nothing, and a farewell would wait for its answer.
                connection.collect()
                connection.release()


send = QueueSender()
