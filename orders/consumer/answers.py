"""Telling the submitter of a refusal, on the reply queue that is the client's own."""

import json
import logging
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import DatabaseError

from orders import reply_queues, telling
from orders.consumer import inbox
from orders.consumer.handling import HandlingResult
from orders.consumer.message import Message
from orders.models import DeadLetter
from workers import around
from workers.wire.confirmed import ConfirmedConnection

log = logging.getLogger(__name__)

TYPE = "submission.refused"
SENT = "sent"


class Answers:
    """Sends refusals over a connection of its own: a broker that takes none still delivers."""

    def __init__(self, url: str = "") -> None:
        self._connection = ConfirmedConnection(partial(inbox.connect, url))

    def tell(self, message: Message, handled: HandlingResult) -> None:
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

    def _answer(self, message: Message, handled: HandlingResult, letter: DeadLetter) -> str:
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
        text = json.dumps(body, ensure_ascii=False).encode()
        try:
            with around("answers.publish"):
                self._connection.send(queue, text, correlation_id=body["correlation_id"])
        except Exception as error:  # noqa: BLE001 (nothing of this may hold an order up)
            return f"not sent: {error}"[:200]
        return SENT

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        self._connection.close()
