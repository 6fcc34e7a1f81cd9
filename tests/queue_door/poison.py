"""Bodies that are no orders, each with the field its refusal must name and a word of why."""

import json
import pickle
from typing import Any

from tests.queue_door.sending import BODY


def _with(**changes: Any) -> bytes:
    return json.dumps(BODY | changes).encode()


def _line(text: str) -> bytes:
    return json.dumps(BODY).replace('"quantity": 2', f'"quantity": {text}').encode()


BODIES: dict[str, tuple[bytes, str, str]] = {
    "nothing": (b"", "body", "no JSON"),
    "no JSON": (b"hello", "body", "no JSON"),
    "cut": (json.dumps(BODY).encode()[:40], "body", "no JSON"),
    "deep": (b"[" * 100_000 + b"]" * 100_000, "body", "got 200000"),
    "nested": (b"[" * 20_000 + b"]" * 20_000, "body", "nested"),
    "a little deep": (_with(reference=[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]), "body", "nested"),
    "NaN": (_line("NaN"), "body", "NaN"),
    "infinity": (_line("-Infinity"), "body", "Infinity"),
    "huge float": (_line("1e999"), "body", "larger"),
    "5000 digits": (_line("9" * 5000), "body", "got 5000"),
    "NUL": (_with(reference="a\x00b"), "body", "NUL"),
    "half a character": (_with(reference="a\ud800b"), "body", "surrogate"),
    "bad UTF-8": (b'{"customer": "\xff\xfe"}', "body", "UTF-8"),
    "UTF-16": (json.dumps(BODY).encode("utf-16"), "body", "UTF-8"),
    "a byte order mark": (b"\xef\xbb\xbf" + json.dumps(BODY).encode(), "body", "no JSON"),
    "__type__": (_with(reference={"__type__": "datetime", "__value__": "x"}), "body", "__type__"),
    "a name twice": (b'{"lines": [], "lines": []}', "body", "twice"),
    "pickle": (pickle.dumps(BODY), "body", "UTF-8"),
    "a list": (b"[]", "body", "must be an object"),
    "a Celery message": (b'[[], {}, {"chord": null}]', "body", "must be an object"),
    "null": (b"null", "body", "must be an object"),
    "an unknown name": (_with(state="processed"), "state", "not a known field"),
    "no lines": (_with(lines=[]), "lines", "at least 1"),
    "a text for a number": (_line('"2"'), "lines.0.quantity", "integer"),
    "a negative number": (_line("-1"), "lines.0.quantity", "greater"),
    "an unknown sku": (_with(lines=[{"sku": "X", "quantity": 1}]), "lines.0.sku", "do not sell"),
    "1 MB": (b'"' + b"x" * 1_000_000 + b'"', "body", "65536 bytes at most"),
}
