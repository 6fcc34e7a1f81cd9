"""Receives any message that a transport delivers, however malformed.

A message that kombu or amqp fails to parse raises before our code sees it, and would be
redelivered for ever.
"""

from collections.abc import Callable
from typing import Any

import amqp
from amqp import method_framing
from kombu.transport import virtual
from kombu.utils.uuid import uuid

from orders.consumer.message import Message


class _Lenient(amqp.Message):
    """An AMQP message that keeps its body even if its properties are unreadable."""

    unreadable = ""

    def _load_properties(self, class_id: int, buf: bytes, offset: int) -> int:
        try:
            return int(super()._load_properties(class_id, buf, offset))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 (text that is no UTF-8, a year 9999999, ...)
            self.properties = {}
            self.unreadable = f"{type(error).__name__}: {error}"
            return len(buf)


class _Envelope(virtual.Message):
    """A message of the other transports; its body is neither decompressed nor deserialized."""

    def __init__(self, payload: Any, channel: Any = None, **_: Any) -> None:
        unreadable = ""
        if not isinstance(payload, dict) or not isinstance(payload.get("properties"), dict):
            payload, unreadable = {"properties": {}}, "it has no envelope"
        properties = payload["properties"]
        # Acknowledging and requeueing need these.
        properties.setdefault("delivery_tag", uuid())
        properties.setdefault("delivery_info", {"exchange": "", "routing_key": ""})
        self.sent_headers = payload.get("headers")
        body = payload.get("body") or b""
        try:
            body = channel.decode_body(body, properties.get("body_encoding"))
        except Exception as error:  # noqa: BLE001 (an unknown encoding, or a body not in it)
            unreadable = f"body_encoding: {type(error).__name__}"
        undecoded: Any = _Undecoded(channel)
        plain = {**payload, "body": body, "headers": {}}
        super().__init__(plain, channel=undecoded)
        self.channel = channel
        self._raw = payload
        self.unreadable = unreadable


class _Undecoded:
    """A channel for the constructor of a message: leaves bodies as they are."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def decode_body(self, body: Any, encoding: Any = None) -> Any:
        return body


def consume(channel: Any, queue: str, receive: Callable[[Message], None]) -> None:
    """Receive the messages of a queue raw: without decoder, decompressor or codec."""
    if isinstance(channel, amqp.Channel):
        # Applies to this process's other connections, too, where it changes nothing.
        setattr(method_framing, "Message", _Lenient)  # noqa: B010 (mypy: it is a class)
        channel.auto_decode = False
        channel.basic_consume(queue, callback=lambda raw: receive(_from_amqp(raw)))
        return
    channel.Message = _Envelope
    channel.basic_consume(
        queue, no_ack=False, consumer_tag=queue, callback=lambda raw: receive(_from_envelope(raw))
    )


def _from_amqp(raw: Any) -> Message:
    return Message(
        body=_bytes(raw.body),
        properties=dict(raw.properties),
        headers=_table(raw.properties.get("application_headers")),
        is_redelivered=bool(raw.delivery_info.get("redelivered")),
        is_user_proven=True,
        unreadable=getattr(raw, "unreadable", ""),
        tag=raw.delivery_tag,
    )


def _from_envelope(raw: Any) -> Message:
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
