"""Parses a message by the HTTP API's model and limits."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from orders import reasons, reply_queues, telling
from orders.consumer.message import TOKEN, Message
from orders.models import ApiClient
from orders.reasons import Refused, because
from orders.schemas import FieldProblem, OrderIn
from workers.http import strict_json

#: The same as the API's Idempotency-Key.
KEY = re.compile(r"[\x21-\x7e]{1,200}")
#: With any other encoding the bytes are not JSON yet.
ENCODINGS = {"", "utf-8", "utf8", "identity", "none"}


@dataclass(frozen=True, slots=True)
class Submission:
    """An order as it was submitted in a message."""

    key: str
    body: OrderIn
    fingerprint: str
    reply_to: str = ""
    correlation_id: str = ""


def read(message: Message, client: ApiClient | None) -> Submission:
    """Return the submission in a message; raise ``Refused`` with all its problems."""
    if message.unreadable:
        raise Refused([because("properties", f"cannot be read: {message.unreadable}")])
    problems = [*_key_problems(message), *_reply_problems(message, client)]
    value: Any = None
    body: OrderIn | None = None
    try:
        value = _json(message)
        body = OrderIn.model_validate(value)
    except Refused as refused:
        problems += refused.reasons
    except ValidationError as error:
        problems += reasons.of_model(error.errors(include_url=False, include_input=False))
    if problems or body is None:
        raise Refused(problems)
    return Submission(
        key=message.text("message_id"),
        body=body,
        fingerprint=strict_json.fingerprint(value),
        reply_to=message.text("reply_to"),
        correlation_id=message.text("correlation_id"),
    )


def _json(message: Message) -> Any:
    encoding = message.properties.get("content_encoding") or ""
    if not isinstance(encoding, str) or encoding.lower() not in ENCODINGS:
        raise Refused([because("content_encoding", "is not utf-8; send the JSON text as it is")])
    try:
        return strict_json.read(message.body)
    except strict_json.BadJson as error:
        raise Refused([because("body", f"cannot be read: {error}")]) from None


def _key_problems(message: Message) -> list[FieldProblem]:
    key = message.properties.get("message_id")
    if key in (None, ""):
        return [because("message_id", "is missing; send a key of your own, new for each order")]
    if not isinstance(key, str) or not KEY.fullmatch(key):
        return [because("message_id", "must be 1 to 200 printable ASCII characters without spaces")]
    if TOKEN.search(key):
        return [because("message_id", "contains a token; send a key of your own instead")]
    return []


def _reply_problems(message: Message, client: ApiClient | None) -> list[FieldProblem]:
    """Return what is wrong with the reply queue and the correlation id."""
    problems = []
    reply_to = message.properties.get("reply_to")
    # The prefix depends on the client; without one the reply queue is not used.
    if reply_to and client is not None and not reply_queues.belongs_to(client, reply_to):
        problems.append(
            because("reply_to", f"must lie under {reply_queues.prefix(client)}, as your own queues")
        )
    correlation_id = message.properties.get("correlation_id")
    if correlation_id and (
        not isinstance(correlation_id, str) or not telling.CORRELATION.fullmatch(correlation_id)
    ):
        problems.append(because("correlation_id", "must be 200 printable ASCII characters at most"))
    return problems
