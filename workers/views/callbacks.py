"""Answers to deferred steps, from services that have a callback token."""

import re
from typing import Any, Literal

import msgspec
from django.http import HttpRequest

from workers.client import callbacks
from workers.exceptions import BadToken, Fault, MessageError, Permanent, Refused, Transient
from workers.views import request_body
from workers.views.problems import RequestRefused

FAULTS: dict[str, type[Fault]] = {
    "permanent": Permanent,
    "refused": Refused,
    "transient": Transient,
}
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
#: msgspec's message, with the place of the error: "... - at `$.fault.code`".
_PLACE = re.compile(r"(?P<says>.*?)(?: - at `\$\.?(?P<field>[^`]*)`)?", re.DOTALL)


class _Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["permanent", "refused", "transient"]
    code: str
    message: str = ""
    #: Whether it proves that nothing happened; null: as that kind of fault does by default.
    no_effect: bool | None = None


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a callback: exactly one of these."""

    result: dict[str, Any] | None = None
    fault: _Fault | None = None
    progress: dict[str, Any] | None = None


def answer(request: HttpRequest, token: str) -> dict[str, Any]:
    """Take a service's answer to an earlier call; the token authorizes it.

    Early, late and repeated answers are accepted; a repeated one has no effect, and the response
    says so.
    """
    request_body.check(request)
    body = _read(request_body.read_json(request_body.read(request)))
    try:
        if body.progress is not None:
            return {"outcome": "noted" if callbacks.progress(token, body.progress) else "ignored"}
        if body.fault is not None:
            return {"outcome": callbacks.fail(token, _as_exception(body.fault))}
        return {"outcome": callbacks.complete(token, body.result)}
    except BadToken as error:
        raise RequestRefused(404, str(error)) from None
    except MessageError as error:
        raise RequestRefused(422, str(error)) from None


def _as_exception(fault: _Fault) -> Fault:
    """Return a fault as an agent would raise it."""
    kind = FAULTS[fault.kind]
    return kind(fault.code.strip(), fault.message, no_effect=fault.no_effect)


def _read(document: Any) -> _Answer:
    try:
        body = msgspec.convert(document, _Answer)
    except msgspec.ValidationError as error:
        place = _PLACE.fullmatch(str(error))
        assert place is not None
        field = place["field"] or "body"
        raise RequestRefused(422, f"{field}: {place['says']}.", field=field) from None
    if sum(part is not None for part in (body.result, body.fault, body.progress)) != 1:
        raise RequestRefused(422, "Send exactly one of result, fault and progress.")
    if body.fault is not None:
        _check(body.fault)
    return body


def _check(fault: _Fault) -> None:
    if _CONTROL_CHARACTERS.search(fault.code) or not fault.code.strip():
        raise RequestRefused(
            422, "fault.code must be one line of text, and not empty.", field="fault.code"
        )
    for field, text, most in (("code", fault.code, 60), ("message", fault.message, 500)):
        if len(text) > most:
            raise RequestRefused(
                422,
                f"fault.{field} must have {most} characters at most, got {len(text)}.",
                field=f"fault.{field}",
            )
