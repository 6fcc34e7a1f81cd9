"""JSON that every database, broker and service reads: Python's NaN and infinities are refused."""

import json
from typing import Any

#: Reused, because ``json.dumps`` would create one for each document.
_strict = json.JSONEncoder(allow_nan=False)


def encode_document(value: Any) -> str:
    """Return one JSON value as text; raise ``ValueError`` for a number that JSON does not have."""
    return _strict.encode(value)
