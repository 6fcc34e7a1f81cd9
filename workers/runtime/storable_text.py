"""Text that every database can hold: PostgreSQL takes no NUL, and UTF-8 no lone surrogate."""

import re
from collections.abc import Mapping
from typing import Any

from workers.exceptions import BadText

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
#: How many characters of a refused text the error quotes.
_SHOWN = 40


def is_storable(text: str) -> bool:
    """Say whether a text holds neither NUL nor a lone surrogate."""
    return not UNSTORABLE.search(text)


def storable(text: object) -> str:
    """Return a text with every unstorable character replaced."""
    return UNSTORABLE.sub("\ufffd", str(text))


def storable_value(value: Any) -> Any:
    """Return a JSON value with every text in it as ``storable`` returns it."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(name): storable_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [storable_value(part) for part in value]
    return value


def check(what: str, text: object, longest: int | None = None) -> None:
    """Raise ``BadText``, which names ``what``, unless ``text`` is text that can be stored.

    ``longest`` is the most characters that its column holds; None: it has no limit, or is cut.
    """
    if not isinstance(text, str):
        raise BadText(f"{what} must be text, got {text!r}.")
    if longest is not None and len(text) > longest:
        raise BadText(
            f"{what} must have {longest} characters at most, got {len(text)}. Shorten it."
        )
    unstorable = UNSTORABLE.search(text)
    if unstorable is not None:
        begin = max(0, unstorable.start() - _SHOWN // 2)
        raise BadText(
            f"{what} must be text without NUL and lone surrogates, got "
            f"{text[begin : begin + _SHOWN]!r}. Remove them."
        )


def check_all(**texts: str) -> None:
    """Raise ``BadText`` for the first text that cannot be stored, with its keyword as its name."""
    for what, text in texts.items():
        check(what, text)


def check_value(what: str, value: Any) -> None:
    """Raise ``BadText`` for the first text anywhere in a JSON value that cannot be stored."""
    # Without recursion: the value may be nested as deep as Python allows.
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            check(what, part)
        elif isinstance(part, dict):
            stack += [*part.values(), *(key for key in part if isinstance(key, str))]
        elif isinstance(part, list | tuple):
            stack += part
