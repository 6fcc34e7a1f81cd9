"""Reading request bodies: within bounds, and strictly."""

from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.parser import Parser

from orders import strict_json


class StrictParser(Parser):
    """Reads JSON as ``strict_json`` does; 413 for what is too large, 400 for what is none."""

    def parse_body(self, request: HttpRequest) -> Any:
        raw = read(request)
        try:
            request.received = strict_json.read(raw)  # type: ignore[attr-defined]
            return request.received  # type: ignore[attr-defined]
        except strict_json.BadJson as error:
            raise HttpError(400, f"The body cannot be read: {error}.") from None


def received(request: HttpRequest) -> Any:
    """Return the body of a request as it was parsed, before anything was made of it."""
    return request.received  # type: ignore[attr-defined]


def read(request: HttpRequest) -> bytes:
    """Return the raw body; raise 413 before more than is allowed was read."""
    length = request.headers.get("Content-Length", "")
    if length.isdecimal() and int(length) > strict_json.MAX_BYTES:
        raise HttpError(413, f"The body has {length} bytes; {strict_json.MAX_BYTES} may be.")
    try:
        raw = request.body
    except RequestDataTooBig:
        raise HttpError(413, f"The body is larger than {strict_json.MAX_BYTES} bytes.") from None
    if len(raw) > strict_json.MAX_BYTES:
        raise HttpError(413, f"The body has {len(raw)} bytes; {strict_json.MAX_BYTES} may be.")
    return raw
