"""Turn the bytes of an answer into a JSON object that a database can hold."""

import json
import math
import zlib
from typing import Any

from workers.runtime.storable_text import is_storable

LARGEST_DEPTH = 32


def is_empty(raw: bytes) -> bool:
    """Say whether a body has nothing to read, whether it is packed (gzip) or not."""
    packed = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        return not raw.strip() or (not packed.decompress(raw, 1) and packed.eof)
    except zlib.error:
        return False


def read_object(raw: bytes) -> dict[str, Any] | None:
    """Return the object, or None if the bytes are anything else.

    NUL, lone surrogates, NaN and infinities are valid for Python's parser but refused by
    PostgreSQL, so they are refused here: the result of a call is stored in a JSON column.
    """
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_storable(value, LARGEST_DEPTH) else None


def _is_storable(value: object, depth: int) -> bool:
    if isinstance(value, str):
        return is_storable(value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return depth > 0 and all(
            _is_storable(part, depth - 1) for pair in value.items() for part in pair
        )
    if isinstance(value, list):
        return depth > 0 and all(_is_storable(part, depth - 1) for part in value)
    return True
