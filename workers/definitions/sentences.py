"""Sentences that are kept with their parameters, and put into words when they are read.

For what is said in many sentences and kept for minutes only, as what the doctor finds: the sentence
itself is the code.  What is kept for long has a code of its own (``alert_messages``).  Imported as
``_`` and ``ngettext``, as what collects texts for translators expects.
"""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from django.utils.translation import gettext, ngettext

from workers.runtime.storable_text import storable

#: Names that one line holds: those of most workflows whole, of one with hundreds a beginning.
NAMED = 12


class Sentence(str):
    """A sentence as the code has it, with what is kept of it."""

    kept: dict[str, Any]


def say(text: str, /, **params: Any) -> Sentence:
    """Return a sentence; a parameter may be one, too."""
    return _made({"text": text, "params": params})


def say_counted(one: str, many: str, n: int, /, **params: Any) -> Sentence:
    """Return a sentence about ``n`` of something, which it names ``%(n)d``."""
    return _made({"text": one, "many": many, "params": {"n": n, **params}})


def say_names(names: Sequence[str], between: str = ", ") -> str:
    """Return names on one line: the first few, and how many more there are."""
    shown = between.join(map(str, names[:NAMED]))
    more = len(names) - NAMED
    if more <= 0:
        return shown
    return say_counted("%(names)s and %(n)d more", "%(names)s and %(n)d more", more, names=shown)


def unended(text: str) -> str:
    """Return a text without its own end, for one that stands before the end of a sentence."""
    return text.rstrip(" .")


def kept(text: str) -> dict[str, Any] | str:
    """Return what is kept of a text: of one that is no sentence of ours, the text."""
    return text.kept if isinstance(text, Sentence) else storable(text)


def in_words(said: Mapping[str, Any] | str) -> str:
    """Return what was said, or kept of it, in the reader's language; a mere text as it is."""
    return _worded(kept(said) if isinstance(said, str) else said, gettext, ngettext)


def changed(text: str, change: Callable[[str], str]) -> str:
    """Return a text with everything changed that is none of the code's own."""
    return _made(_changed(text.kept, change)) if isinstance(text, Sentence) else change(text)


def _made(known: dict[str, Any]) -> Sentence:
    params = {name: _kept(value) for name, value in known["params"].items()}
    known = {**known, "params": params}
    sentence = Sentence(_worded(known, str, lambda one, many, n: one if n == 1 else many))
    sentence.kept = known
    return sentence


def _kept(value: Any) -> Any:
    """Return what is kept of a parameter: JSON, whatever it was."""
    if isinstance(value, str):
        return kept(value)
    if isinstance(value, bool | int | None) or (isinstance(value, float) and isfinite(value)):
        return value
    if isinstance(value, Mapping):
        return value
    return storable(value)


def _worded(
    known: Mapping[str, Any] | str,
    of_text: Callable[[str], str],
    of_count: Callable[[str, str, int], str],
) -> str:
    if isinstance(known, str):
        return known
    params = {
        name: _worded(value, of_text, of_count) if isinstance(value, Mapping) else value
        for name, value in known["params"].items()
    }
    if "many" in known:
        return of_count(known["text"], known["many"], int(params["n"])) % params
    return of_text(known["text"]) % params if params else of_text(known["text"])


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        changed_params = {n: _changed(one, change) for n, one in value["params"].items()}
        return {**value, "params": changed_params}
    return value
