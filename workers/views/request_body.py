"""Reads request bodies: within a size limit, uncompressed, and as strict JSON."""

import re
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from workers.http import strict_json
from workers.views.problems import RequestRefused

#: Values of Content-Encoding for an uncompressed body.
PLAIN = {"", "identity"}
LENGTH = re.compile(r"[0-9]*")


def too_large(max_bytes: int = strict_json.MAX_BYTES) -> RequestRefused:
    """Return the refusal of a body of more than that."""
    return RequestRefused(413, f"The body is larger than {max_bytes} bytes. Send less at once.")


def check(request: HttpRequest, max_bytes: int = strict_json.MAX_BYTES) -> None:
    """Refuse a body by its headers, before it is read.

    415: it is compressed, which is not supported.  411: it is sent in chunks, which Django takes
    for an empty body.  413: it is too large.  400: its length is no number.
    """
    encoding = request.headers.get("Content-Encoding", "")
    if encoding.strip().lower() not in PLAIN:
        raise RequestRefused(415, "Content-Encoding must be identity: send the JSON as it is.")
    length = request.headers.get("Content-Length", "")
    if not length and "Transfer-Encoding" in request.headers:
        raise RequestRefused(411, "Content-Length is missing; send the body in one piece, with it.")
    if not LENGTH.fullmatch(length):
        raise RequestRefused(400, "Content-Length must be the number of bytes in the body.")
    # Never convert thousands of digits to a number.
    digits = length.lstrip("0")
    if len(digits) > len(str(max_bytes)) or int(digits or 0) > max_bytes:
        raise too_large(max_bytes)


def read(request: HttpRequest, max_bytes: int = strict_json.MAX_BYTES) -> bytes:
    """Return the raw body; 413 before more than the limit is read."""
    try:
        raw = request.body
    except RequestDataTooBig:
        raise too_large(max_bytes) from None
    if len(raw) > max_bytes:
        raise too_large(max_bytes)
    return raw


def read_json(raw: bytes, **limits: int) -> Any:
    """Return the value of a body as ``strict_json`` reads it; 400 if it is not JSON.

    The Content-Type is ignored: whatever it says, the bytes are read as JSON only.
    """
    try:
        return strict_json.read(raw, **limits)
    except strict_json.BadJson as error:
        raise RequestRefused(400, f"The body cannot be read: {error}.") from None
