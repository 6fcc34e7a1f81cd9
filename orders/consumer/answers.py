"""Tells the submitter of a refusal, on the client's own reply queue."""

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
    """Sends refusals over a separate connection: a broker that blocks publishers still delivers."""

    def __init__(self, url: str = "") -> None:
        self._connection = ConfirmedConnection(partial(inbox.connect, url))

    def tell(self, message: Message, result: HandlingResult) -> None:
        """Tell the proven sender of a dead letter once, and note the outcome on the letter."""
        letter = result.letter
        if letter is None or not message.text("reply_to"):
            return
        if letter.properties.get("answer") == SENT:
            return
        outcome = self._answer(message, result, letter)
        letter.properties["answer"] = outcome
        if outcome != SENT:
            log.warning("refusal_not_told", extra={"dead_letter": letter.pk, "reason": outcome})
        if letter._state.adding:
            return
        # The letter is committed already; the note may be lost.
        with suppress(DatabaseError), around("answers.note"):
            letter.save(update_fields=["properties"])

    def _answer(self, message: Message, result: HandlingResult, letter: DeadLetter) -> str:
        reply_to, client = message.text("reply_to"), result.sender.client
        if client is None:
            return "not sent: who submitted it is not proven"
        if not reply_queues.belongs_to(client, reply_to):
            return f"not sent: reply_to lies outside {reply_queues.prefix(client)}"
        correlation_id = message.text("correlation_id")
        body = {
            "type": TYPE,
            "version": 1,
            "message_id": letter.message_id,
            "errors": letter.reasons,
            # An invalid one is among the errors, and could not be sent as a property.
            "correlation_id": correlation_id
            if telling.CORRELATION.fullmatch(correlation_id)
            else "",
        }
        return self._send(reply_to, body)

    def _send(self, queue: str, body: dict[str, Any]) -> str:
        text = json.dumps(body, ensure_ascii=False).encode()
        try:
            with around("answers.publish"):
                self._connection.send(queue, text, correlation_id=body["correlation_id"])
        except Exception as error:  # noqa: BLE001 (no failure here may hold up orders)
            return f"not sent: {error}"[:200]
        return SENT

    def close(self) -> None:
        """End the connection, whatever state it is in."""
        self._connection.close()
