"""Reading what a transport delivers, whatever stands in it.

A message that a library fails to read raises before anybody has seen it.  It would then be
delivered again to the next connection, for ever.
"""

from collections.abc import Callable
from typing import Any

import amqp
from amqp import method_framing
from kombu.transport import virtual
from kombu.utils.uuid import uuid

from orders.consumer.message import Message


class _Lenient(amqp.Message):
    """A message of AMQP whose properties may be unreadable; its body is there all the same."""

    unreadable = ""

    def _load_properties(self, class_id: int, buf: bytes, offset: int) -> int:
        try:
            return int(super()._load_properties(class_id, buf, offset))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 (text that is no UTF-8, a year 9999999, ...)
            self.properties = {}
            self.unreadable = f"{type(error).__name__}: {error}"
            return len(buf)


class _Envelope(virtual.Message):
    """A message of the other transports; nothing that it asks for is done to its body."""

    def __init__(self, payload: Any, channel: Any = None, **_: Any) -> None:
        unreadable = ""
        if not isinstance(payload, dict) or not isinstance(payload.get("properties"), dict):
            payload, unreadable = {"properties": {}}, "it has no envelope"
        properties = payload["properties"]
        # What acknowledging and giving back need.
        properties.setdefault("delivery_tag", uuid())
        properties.setdefault("delivery_info", {"exchange": "", "routing_key": ""})
        self.sent_headers = payload.get("headers")
        body = payload.get("body") or b""
        try:
            body = channel.decode_body(body, properties.get("body_encoding"))
        except Exception as error:  # noqa: BLE001 (an encoding nobody knows, or not in it)
            unreadable = f"body_encoding: {type(error).__name__}"
        unchanging: Any = _Unchanging(channel)
        plain = {**payload, "body": body, "headers": {}}
        super().__init__(plain, channel=unchanging)
        self.channel = channel
        self._raw = payload
        self.unreadable = unreadable


class _Unchanging:
    """A channel as far as a message needs one to be made: bodies stay as they are."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def decode_body(self, body: Any, encoding: Any = None) -> Any:
        return body


def consume(channel: Any, queue: str, receive: Callable[[Message], None]) -> None:
    """Have the messages of a queue received raw: no decoder, no decompressor, no codec."""
    if isinstance(channel, amqp.Channel):
        # Also of this process's other connections, where it changes nothing.
        setattr(method_framing, "Message", _Lenient)  # noqa: B010 (mypy: it is a class)
        channel.auto_decode = False
        channel.basic_consume(queue, callback=lambda raw: receive(_of_amqp(raw)))
        return
    channel.Message = _Envelope
    channel.basic_consume(
        queue, no_ack=False, consumer_tag=queue, callback=lambda raw: receive(_of_envelope(raw))
    )


def _of_amqp(raw: Any) -> Message:
    return Message(
        body=_bytes(raw.body),
        properties=dict(raw.properties),
        headers=_table(raw.properties.get("application_headers")),
        is_redelivered=bool(raw.delivery_info.get("redelivered")),
        is_user_proven=True,
        unreadable=getattr(raw, "unreadable", ""),
        tag=raw.delivery_tag,
    )


def _of_envelope(raw: Any) -> Message:
    info = raw.delivery_info if isinstance(raw.delivery_info, dict) else {}
    return Message(
        body=_bytes(raw.body),
        properties={
            **raw.properties,
            "content_type": raw.content_type,
            "content_encoding": raw.content_encoding,
        },
        headers=_table(raw.sent_headers),
        is_redelivered=bool(info.get("redelivered")),
        unreadable=raw.unreadable,
        tag=raw.delivery_tag,
    )


def _bytes(body: Any) -> bytes:
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    return str(body).encode("utf-8", "surrogatepass")


def _table(headers: Any) -> dict[str, Any]:
    return {str(name): value for name, value in headers.items()} if headers else {}
