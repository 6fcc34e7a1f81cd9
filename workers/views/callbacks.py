"""Answers to deferred steps, from services that were given a callback token."""

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
#: Where msgspec says that something is wrong: "... - at `$.fault.code`".
_PLACE = re.compile(r"(?P<says>.*?)(?: - at `\$\.?(?P<field>[^`]*)`)?", re.DOTALL)


class _Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Literal["permanent", "refused", "transient"]
    code: str
    message: str = ""
    #: Whether it is proof that nothing happened; null: what that kind of fault says by itself.
    no_effect: bool | None = None


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a callback: exactly one of these."""

    result: dict[str, Any] | None = None
    fault: _Fault | None = None
    progress: dict[str, Any] | None = None


def answer(request: HttpRequest, token: str) -> dict[str, Any]:
    """Take the answer of a service that was asked earlier; the token is its right to answer.

    Early, late and repeated answers are all fine: a repeated one has no effect and is told so.
    """
    request_body.check(request)
    given = _read(request_body.read_json(request_body.read(request)))
    try:
        if given.progress is not None:
            return {"outcome": "noted" if callbacks.progress(token, given.progress) else "ignored"}
        if given.fault is not None:
            return {"outcome": callbacks.fail(token, _raised(given.fault))}
        return {"outcome": callbacks.complete(token, given.result)}
    except BadToken as error:
        raise RequestRefused(404, str(error)) from None
    except MessageError as error:
        raise RequestRefused(422, str(error)) from None


def _raised(fault: _Fault) -> Fault:
    """Return a fault as an agent of ours would raise it."""
    kind = FAULTS[fault.kind]
    return kind(fault.code.strip(), fault.message, no_effect=fault.no_effect)


def _read(document: Any) -> _Answer:
    try:
        given = msgspec.convert(document, _Answer)
    except msgspec.ValidationError as error:
        place = _PLACE.fullmatch(str(error))
        assert place is not None
        field = place["field"] or "body"
        raise RequestRefused(422, f"{field}: {place['says']}.", field=field) from None
    if sum(part is not None for part in (given.result, given.fault, given.progress)) != 1:
        raise RequestRefused(422, "Send exactly one of result, fault and progress.")
    if given.fault is not None:
        _check(given.fault)
    return given


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
