"""Sentences that are stored with their parameters, and translated at reading.

For texts of many sentences that are kept for minutes only, such as the doctor's findings: the
sentence itself is the code.  Texts that are kept for long have codes (``alert_messages``).
Import ``say`` and ``say_counted`` as ``_`` and ``ngettext``, which makemessages looks for.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from django.utils.translation import gettext, ngettext

from workers.runtime.storable_text import storable

#: Names on one line: all of most workflows, the first of one with hundreds.
NAMED = 12


class Sentence(str):
    """An untranslated sentence, with what is stored of it."""

    kept: dict[str, Any]


def say(text: str, /, **params: Any) -> Sentence:
    """Return a sentence; parameters may be sentences, too."""
    return _sentence({"text": text, "params": params})


def say_counted(one: str, many: str, n: int, /, **params: Any) -> Sentence:
    """Return a sentence about ``n`` things, with the number as ``%(n)d``."""
    return _sentence({"text": one, "many": many, "params": {"n": n, **params}})


def say_names(names: Sequence[str], between: str = ", ") -> str:
    """Return names on one line: the first few, and how many more there are."""
    shown = between.join(map(str, names[:NAMED]))
    more = len(names) - NAMED
    if more <= 0:
        return shown
    return say_counted("%(names)s and %(n)d more", "%(names)s and %(n)d more", more, names=shown)


def unended(text: str) -> str:
    """Return a text without its full stop, to stand at the end of a sentence."""
    return text.rstrip(" .")


def kept(text: str) -> dict[str, Any] | str:
    """Return what is stored of a text: a sentence and its parameters, or the mere text."""
    return text.kept if isinstance(text, Sentence) else storable(text)


def in_words(text: Mapping[str, Any] | str) -> str:
    """Return a sentence, stored or not, in the reader's language; a mere text as it is."""
    return _in_words(kept(text) if isinstance(text, str) else text, gettext, ngettext)


def changed(text: str, change: Callable[[str], str]) -> str:
    """Return a text with everything changed that does not come from the code itself."""
    return _sentence(_change(text.kept, change)) if isinstance(text, Sentence) else change(text)


def _sentence(record: dict[str, Any]) -> Sentence:
    params = {name: _storable(value) for name, value in record["params"].items()}
    record = {**record, "params": params}
    sentence = Sentence(_in_words(record, str, lambda one, many, n: one if n == 1 else many))
    sentence.kept = record
    return sentence


def _storable(value: Any) -> Any:
    """Return what is stored of a parameter: JSON, whatever its type."""
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return value
    return storable(value)


def _in_words(
    record: Mapping[str, Any] | str,
    translate: Callable[[str], str],
    translate_counted: Callable[[str, str, int], str],
) -> str:
    if isinstance(record, str):
        return record
    params = {
        name: _in_words(value, translate, translate_counted)
        if isinstance(value, Mapping)
        else value
        for name, value in record["params"].items()
    }
    if "many" in record:
        return translate_counted(record["text"], record["many"], int(params["n"])) % params
    return translate(record["text"]) % params if params else translate(record["text"])


def _change(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        params = {name: _change(param, change) for name, param in value["params"].items()}
        return {**value, "params": params}
    return value
