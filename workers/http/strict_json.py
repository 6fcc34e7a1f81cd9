"""Read JSON from strangers: only what every part of this system can store and repeat."""

import hashlib
import json
import math
from collections import Counter
from functools import partial
from typing import Any, NoReturn

from workers.runtime.storable_text import is_storable

MAX_BYTES = 65_536
MAX_DEPTH = 16
MAX_DIGITS = 18


class BadJson(ValueError):
    """A body that is refused; the text says why."""


def read(raw: bytes, *, max_bytes: int = MAX_BYTES, max_digits: int = MAX_DIGITS) -> Any:
    """Return the value of a JSON text in UTF-8.

    Refuses NaN and infinities (1e999 is one), duplicate names, NUL and lone surrogates,
    nesting deeper than 16, whole numbers of more than ``max_digits`` digits, ``__type__`` as a
    name (message libraries make objects of it), and more than ``max_bytes``.  Raises ``BadJson``.
    """
    if len(raw) > max_bytes:
        raise BadJson(f"it must have {max_bytes} bytes at most, got {len(raw)}")
    try:
        value = json.loads(
            raw.decode("utf-8"),
            parse_constant=_no_constant,
            parse_int=partial(_whole, max_digits),
            parse_float=_finite,
            object_pairs_hook=_once,
        )
    except UnicodeDecodeError:
        raise BadJson("it is not UTF-8") from None
    except RecursionError:
        raise BadJson(f"it is nested deeper than {MAX_DEPTH}") from None
    except BadJson:
        raise
    except ValueError as error:
        raise BadJson(f"it is no JSON: {error}") from None
    _check(value, 0)
    return value


def canonical(value: Any) -> str:
    """Return the same text for equal values, whatever the order of their names."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(value: Any) -> str:
    """Return a hash of a value: the same at every door."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def _no_constant(name: str) -> NoReturn:
    raise BadJson(f"{name} is not allowed as a number")


def _whole(max_digits: int, digits: str) -> int:
    if len(digits) > max_digits:
        raise BadJson(f"a number must have {max_digits} digits at most, got {len(digits)}")
    return int(digits)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise BadJson(f"{text[:40]} is larger than any number here")
    return number


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        # In one pass: a body has room for thousands of names.
        (duplicate, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise BadJson(f"{duplicate[:40]!r} is given twice")
    return values


def _check(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadJson(f"it is nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, list):
        for item in value:
            _check(item, depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name == "__type__":
                raise BadJson("__type__ is no name for a value")
            _check_text(name)
            _check(item, depth + 1)


def _check_text(text: str) -> None:
    if not is_storable(text):
        raise BadJson("a text contains a NUL or a lone surrogate")
