"""Text that every database holds: PostgreSQL takes no NUL, and UTF-8 no lone surrogate."""

import re
from collections.abc import Mapping
from typing import Any

from workers.exceptions import BadText

UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
#: Characters of a refused text that its refusal repeats.
_SHOWN = 40


def is_storable(text: str) -> bool:
    """Say whether a text holds neither NUL nor a lone surrogate."""
    return not UNSTORABLE.search(text)


def storable(text: object) -> str:
    """Return a text with a replacement character for each one that no database holds."""
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
    """Raise ``BadText`` for the first text that cannot be stored, by the name it is given as."""
    for what, text in texts.items():
        check(what, text)


def check_value(what: str, value: Any) -> None:
    """Raise ``BadText`` for the first text anywhere in a JSON value that cannot be stored."""
    # Without recursion: what was parsed or encoded may be nested as deep as Python allows.
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            check(what, part)
        elif isinstance(part, dict):
            waiting += [*part.values(), *(key for key in part if isinstance(key, str))]
        elif isinstance(part, list | tuple):
            waiting += part
