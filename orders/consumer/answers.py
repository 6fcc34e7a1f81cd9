"""Telling the submitter of a refusal, on the reply queue that is the client's own."""

import json
import logging
from contextlib import suppress
from typing import Any

from django.db import DatabaseError
from kombu import Connection, Producer

from orders import reply_queues, telling
from orders.consumer import inbox
from orders.consumer.handling import Handled
from orders.consumer.message import Message
from orders.models import DeadLetter
from workers import around

log = logging.getLogger(__name__)

TYPE = "submission.refused"
TRIES = 2
CONFIRM_SECONDS = 3
SENT = "sent"
#: Answers that wait unread, where the broker cannot limit a queue itself.
MOST_WAITING = 10_000


class Answers:
    """Sends refusals over a connection of its own: a broker that takes none still delivers."""

    def __init__(self, url: str = "") -> None:
        self._url = url
        self._connection: Connection | None = None
        self._channel: Any = None
        self._returned: list[str] = []

    def tell(self, message: Message, handled: Handled) -> None:
        """Tell who sent a dead letter, once, if they are known; note on it what came of that."""
        letter = handled.letter
        if letter is None or not message.text("reply_to"):
            return
        if letter.properties.get("answer") == SENT:
            return
        said = self._answer(message, handled, letter)
        letter.properties["answer"] = said
        if said != SENT:
            log.warning("refusal_not_told", extra={"dead_letter": letter.pk, "reason": said})
        if letter._state.adding:
            return
        # The letter itself is committed; this is only a remark on it.
        with suppress(DatabaseError), around("answers.note"):
            letter.save(update_fields=["properties"])

    def _answer(self, message: Message, handled: Handled, letter: DeadLetter) -> str:
        reply_to, client = message.text("reply_to"), handled.sender.client
        if client is None:
            return "not sent: who submitted it is not proven"
        if not reply_queues.belongs_to(client, reply_to):
            return f"not sent: reply_to lies outside {reply_queues.prefix(client)}"
        given = message.text("correlation_id")
        body = {
            "type": TYPE,
            "version": 1,
            "message_id": letter.message_id,
            "errors": letter.reasons,
            # One that is no good is a reason of its own, and could not be sent.
            "correlation_id": given if telling.CORRELATION.fullmatch(given) else "",
        }
        return self._send(reply_to, body)

    def _send(self, queue: str, body: dict[str, Any]) -> str:
        said = ""
        for _ in range(TRIES):
            try:
                said = self._publish(queue, body)
            except Exception as error:  # noqa: BLE001 (nothing of this may hold an order up)
                said = f"not sent: {type(error).__name__}: {error}"[:200]
                self.close()
            else:
                break
        return said

    def _publish(self, queue: str, body: dict[str, Any]) -> str:
        channel = self._open()
        self._returned.clear()
        # Without AMQP nobody says that a queue is read by nobody.
        if hasattr(channel, "_size") and channel._size(queue) >= MOST_WAITING:
            return f"not sent: {MOST_WAITING} messages wait there already"
        with around("answers.publish"):
            Producer(channel, auto_declare=False).publish(
                json.dumps(body, ensure_ascii=False).encode(),
                exchange="",
                routing_key=queue,
                content_type="application/json",
                content_encoding="utf-8",
                correlation_id=body["correlation_id"],
                delivery_mode=2,
                mandatory=True,
                confirm_timeout=CONFIRM_SECONDS,
                retry=False,
            )
        return f"not sent: {self._returned[0]}" if self._returned else SENT

    def _open(self) -> Any:
        """Return the channel, connected; raise at once where the broker is not reached."""
        if self._channel is None:
            self._connection = inbox.connect(self._url)
            self._connection.connect()
            self._channel = self._connection.channel()
            if hasattr(self._channel, "events"):
                # A callback and no exception: the confirmation follows the return, and would
                # be taken for the next message's.
                self._channel.events["basic_return"].add(self._note_return)
        return self._channel

    def _note_return(self, error: Exception, *_: Any) -> None:
        self._returned.append("there is no such queue")

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None:
            with suppress(Exception):
                connection.release()
