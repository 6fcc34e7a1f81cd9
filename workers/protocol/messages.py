"""The wire format between Scheduler and Agents: frozen values, versioned, to and from JSON.

A message is a hint.  Its receiver asks the state store whether its claim still holds before
doing anything.
"""

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import msgspec

from workers.exceptions import Fault, MessageError
from workers.protocol import faults
from workers.protocol.faults import FaultRecord
from workers.runtime import storable_text
from workers.runtime.json_text import encode_document

VERSION = 1
#: Raised by a message that cannot be read; a lone surrogate in a name is not an error of types.
_NO_MESSAGE = (msgspec.ValidationError, UnicodeError)


class Request(msgspec.Struct, frozen=True):
    """One claim as its agent sees it.

    ``key`` is the idempotency key for the remote service, the same at every attempt.  Newer code
    may send more fields, which older code ignores.
    """

    step_id: int
    claim_id: UUID
    attempt: int
    step: str
    subject: str
    key: str
    payload: dict[str, Any]
    #: An earlier claim ended, and it is unknown whether it had its effect.
    in_doubt: bool = False

    def to_wire(self) -> dict[str, Any]:
        return {
            "step_id": self.step_id,
            "claim_id": self.claim_id.hex,
            "attempt": self.attempt,
            "step": self.step,
            "subject": self.subject,
            "key": self.key,
            "payload": self.payload,
            "in_doubt": self.in_doubt,
        }


class Bundle(msgspec.Struct, frozen=True):
    """A message to an agent: claims of one agent and one timeout (seconds)."""

    agent: str
    timeout_seconds: int
    requests: tuple[Request, ...]
    #: The call may end its process, so no other runs beside it.
    is_alone: bool = False
    #: Its agent has a rate: its calls are counted when they are made.
    is_rated: bool = False

    def to_wire(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "agent": self.agent,
            "timeout_seconds": self.timeout_seconds,
            "is_alone": self.is_alone,
            "is_rated": self.is_rated,
            "requests": [request.to_wire() for request in self.requests],
        }

    @classmethod
    def from_wire(cls, body: Any) -> "Bundle":
        """Return the bundle in ``body``; raise ``MessageError`` if there is none."""
        _check_version(body)
        try:
            return msgspec.convert(body, cls)
        except _NO_MESSAGE as error:
            raise MessageError(f"This is no bundle of requests: {error}") from error


class Reply(msgspec.Struct, frozen=True):
    """An agent's reply to one claim: a result, a fault, or that the answer comes later."""

    step_id: int
    claim_id: UUID
    attempt: int
    result: dict[str, Any] | None = None
    fault: FaultRecord | None = None
    #: {"seconds", "question", "permission", "escalate_seconds", "is_asked_once"}.
    deferral: dict[str, Any] | None = None
    #: Bytes of the result, if the sender knows them; not sent.
    size: int = msgspec.field(default=0, name="not on the wire")

    @classmethod
    def of_deferral(cls, request: Request, deferral: dict[str, Any]) -> "Reply":
        return cls(request.step_id, request.claim_id, request.attempt, deferral=deferral)

    @classmethod
    def of(cls, request: Request, result: dict[str, Any], size: int = 0) -> "Reply":
        return cls(request.step_id, request.claim_id, request.attempt, result=result, size=size)

    @classmethod
    def of_fault(cls, request: Request, fault: Fault, *, is_proof: bool = False) -> "Reply":
        record = FaultRecord.of(fault, is_proof=is_proof)
        return cls(request.step_id, request.claim_id, request.attempt, fault=record)

    def to_wire(self) -> dict[str, Any]:
        body = {"step_id": self.step_id, "claim_id": self.claim_id.hex, "attempt": self.attempt}
        if self.deferral is not None:
            return body | {"deferral": self.deferral}
        if self.fault is not None:
            return body | {"fault": self.fault.to_json()}
        return body | {"result": self.result}

    @property
    def kind(self) -> str:
        """Return the kind of reply: result, deferral, or the kind of its fault."""
        if self.deferral is not None:
            return "deferral"
        return "result" if self.fault is None else self.fault.kind

    @classmethod
    def from_wire(cls, body: Any) -> "Reply":
        """Return the reply in ``body``; raise ``MessageError`` if there is none."""
        try:
            reply = msgspec.convert(body, cls)
        except _NO_MESSAGE as error:
            raise MessageError(f"This is no reply: {error}") from error
        reply.check()
        return reply

    def check(self) -> None:
        """Raise ``MessageError`` unless it has exactly one outcome of a known kind."""
        if [self.result, self.fault, self.deferral].count(None) != 2:
            raise MessageError(
                "A reply must have a result, a fault or a deferral, one of them, as an object."
            )
        if self.deferral is not None and faults.seconds(self.deferral.get("seconds")) is None:
            raise MessageError("A deferral must say how many seconds it may take.")
        if self.fault is not None and self.kind not in faults.KINDS:
            kinds = ", ".join(sorted(faults.KINDS))
            raise MessageError(f"The kind of a fault must be one of {kinds}, got {self.kind!r}.")


def replies_to_wire(replies: list[Reply]) -> dict[str, Any]:
    return {"version": VERSION, "replies": [reply.to_wire() for reply in replies]}


def replies_from_wire(body: Any) -> list[Reply]:
    """Return the replies in ``body``; raise ``MessageError`` if there are none."""
    _check_version(body)
    try:
        replies = msgspec.convert(body.get("replies"), list[Reply])
    except _NO_MESSAGE as error:
        raise MessageError(f"This is no list of replies: {error}") from error
    for reply in replies:
        reply.check()
    return replies


def _check_version(body: Any) -> None:
    version = body.get("version") if isinstance(body, dict) else None
    if version != VERSION:
        raise MessageError(f"Message version {version!r} is not known; this code speaks {VERSION}.")


#: The largest process input, request or result, as JSON text.
MAX_DOCUMENT_BYTES = 262_144
MAX_DEPTH = 32
#: The most payload or results in one message, beyond the first: RabbitMQ 4 takes 16 MiB.
MESSAGE_BYTES = 1_048_576


def parcels(sizes: Sequence[int]) -> Iterator[slice]:
    """Yield slices of ``sizes`` (bytes) that each fit one message, in order."""
    begin = total = 0
    for i, size in enumerate(sizes):
        if i > begin and total + size > MESSAGE_BYTES:
            yield slice(begin, i)
            begin, total = i, 0
        total += size
    if begin < len(sizes):
        yield slice(begin, len(sizes))


def storable(document: Any, what: str = "An agent's result") -> int:
    """Return a document's size as JSON, in bytes: a process input, a request or a result.

    Raises ``MessageError``, which calls it ``what``, if a database or message cannot hold it.
    """
    if not isinstance(document, dict):
        raise MessageError(f"{what} must be a dict, got {type(document).__name__}.")
    try:
        text = encode_document(document)
    except (TypeError, ValueError, RecursionError) as error:
        raise MessageError(f"{what} must be JSON: {error}") from error
    check_limits(document, text, what)
    _check_text(document, what)
    return len(text)


def check_limits(document: dict[str, Any], text: str, what: str) -> None:
    """Raise ``MessageError`` for a document too large or too deep for a message.

    Also for a key that a message library takes for an object.  ``text`` is the document's JSON:
    the document itself is walked only if its text may hold such a key or depth.
    """
    if len(text) > MAX_DOCUMENT_BYTES:
        raise MessageError(
            f"{what} must have {MAX_DOCUMENT_BYTES} bytes at most, got {len(text)}. "
            "Keep it elsewhere, and say where."
        )
    if '"__type__"' in text or text.count("{") + text.count("[") > MAX_DEPTH:
        _check_shape(document, 0, what)


def _check_shape(value: Any, depth: int, what: str) -> None:
    if depth > MAX_DEPTH:
        raise MessageError(f"{what} must be nested {MAX_DEPTH} deep at most.")
    if isinstance(value, dict):
        if "__type__" in value:
            # kombu would convert it into an object in transit.
            raise MessageError(f"{what} must have no key __type__. Rename it.")
        for inner in value.values():
            _check_shape(inner, depth + 1, what)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_shape(inner, depth + 1, what)


def _check_text(value: Any, what: str) -> None:
    if isinstance(value, str):
        if not storable_text.is_storable(value):
            raise MessageError(f"{what} must have no NUL and no lone surrogate.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check_text(key, what)
            _check_text(inner, what)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_text(inner, what)
