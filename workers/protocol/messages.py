"""What an agent is asked and what it replies: frozen values.

A reply filed on its row is JSON; a request exists only in the process that calls.
"""

from typing import Any
from uuid import UUID

import msgspec

from workers.exceptions import Fault, MessageError
from workers.protocol import faults
from workers.protocol.faults import FaultRecord
from workers.runtime import storable_text
from workers.runtime.json_text import encode_strictly

#: Raised by a message that cannot be read; a lone surrogate in a name is not an error of types.
_NO_MESSAGE = (msgspec.ValidationError, UnicodeError)


class Request(msgspec.Struct, frozen=True):
    """One claim as its agent sees it.

    ``key`` is the idempotency key for the remote service, the same at every attempt.
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
    process_id: int = 0


class Reply(msgspec.Struct, frozen=True):
    """An agent's reply to one claim: a result, a fault, or that the answer comes later.

    Without any of them the step is needless; see ``step(unless=)``.
    """

    step_id: int
    claim_id: UUID
    attempt: int
    result: dict[str, Any] | None = None
    fault: FaultRecord | None = None
    #: {"seconds", "question", "permission", "escalate_seconds", "is_asked_once"}.
    deferral: dict[str, Any] | None = None
    #: The idempotency key of the call; a filed reply has none, as its claim holds.
    key: str = ""
    #: The agent was not called, so this says nothing about its service.
    is_uncalled: bool = False
    #: Read from its step's row: a Scheduler may have settled it since.
    is_filed: bool = False

    @classmethod
    def of_deferral(cls, request: Request, deferral: dict[str, Any]) -> "Reply":
        return cls(request.step_id, request.claim_id, request.attempt, deferral=deferral)

    @classmethod
    def of(cls, request: Request, result: dict[str, Any]) -> "Reply":
        return cls(request.step_id, request.claim_id, request.attempt, result, key=request.key)

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


#: The largest process input, request or result, as JSON text.
MAX_DOCUMENT_BYTES = 262_144
MAX_DEPTH = 32


def storable(document: Any, what: str = "An agent's result") -> int:
    """Return a document's size as JSON, in bytes: a process input, a request or a result.

    Raises ``MessageError``, which calls it ``what``, if a database or message cannot hold it.
    """
    if not isinstance(document, dict):
        raise MessageError(f"{what} must be a dict, got {type(document).__name__}.")
    try:
        text = encode_strictly(document)
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
