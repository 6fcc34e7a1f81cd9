"""Reading what a request brings: within bounds, as it came, and strictly."""

import re
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser

from orders import strict_json

#: What a body may have been put through: nothing.
PLAIN = {"", "identity"}
LENGTH = re.compile(r"[0-9]*")
TOO_LARGE = f"The body is larger than {strict_json.MAX_BYTES} bytes. Send less at once."


class StrictParser(Parser):
    """Reads JSON as ``strict_json`` does; 413 for what is too large, 400 for what is none.

    The Content-Type is not looked at: whatever it says, the bytes are read as JSON and as
    nothing else.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        raw = read(request)
        try:
            request.received = strict_json.read(raw)  # type: ignore[attr-defined]
            return request.received  # type: ignore[attr-defined]
        except strict_json.BadJson as error:
            raise HttpError(400, f"The body cannot be read: {error}.") from None

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Return the parameters of a query; 422 for a name given twice, as in a body."""
        for name in data:
            if len(data.getlist(name)) > 1 and name not in list_fields:
                said = {"loc": ("query", name), "msg": "is given twice; send it once"}
                raise ValidationError([said])
        return super().parse_querydict(data, list_fields, request)


def received(request: HttpRequest) -> Any:
    """Return the body of a request as it was parsed, before anything was made of it."""
    return request.received  # type: ignore[attr-defined]


def read(request: HttpRequest) -> bytes:
    """Return the raw body; raise 413 before more than is allowed was read."""
    try:
        raw = request.body
    except RequestDataTooBig:
        raise HttpError(413, TOO_LARGE) from None
    if len(raw) > strict_json.MAX_BYTES:
        raise HttpError(413, TOO_LARGE)
    return raw


def check(request: HttpRequest) -> None:
    """Raise for a body that is not to be read at all, by what its headers say of it.

    415: it was compressed, which nobody undoes here.  411: it comes in chunks, which Django
    takes for an empty body.  413: it is too large.  400: its length is no number.
    """
    encoding = request.headers.get("Content-Encoding", "")
    if encoding.strip().lower() not in PLAIN:
        raise HttpError(415, "Content-Encoding must be identity: send the JSON as it is.")
    length = request.headers.get("Content-Length", "")
    if not length and "Transfer-Encoding" in request.headers:
        raise HttpError(411, "Content-Length is missing; send the body in one piece, with it.")
    if not LENGTH.fullmatch(length):
        raise HttpError(400, "Content-Length must be the number of bytes in the body.")
    # Thousands of digits are not made a number of.
    digits = length.lstrip("0")
    if len(digits) > len(str(strict_json.MAX_BYTES)) or int(digits or 0) > strict_json.MAX_BYTES:
        raise HttpError(413, TOO_LARGE)
