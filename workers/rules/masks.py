"""What is personal in documents and texts, and how it is masked.  Pure.

A workflow declares which parts of its input are personal (``Workflow(personal=...)``).  What
stands there is masked in the input itself, in results, in the journal's details and, being known
then, in every text that repeats it: a fault, a reason.  Mail addresses are masked in any text.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

#: Shown in place of what is left out.
STARS = "***"
#: The path of everything.
WHOLE = ""
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
#: A shorter text would be found in others that have nothing to do with it.
SHORTEST = 3


def masked(text: str) -> str:
    """Return a personal text as ``a***@example.org`` or ``A***``."""
    name, at, domain = text.strip().rpartition("@")
    if at and MAIL.fullmatch(text.strip()):
        return f"{name[:1]}{STARS}@{domain}"
    return f"{text.strip()[:1]}{STARS}" if text.strip() else text


class Mask:
    """Masks documents by the paths of what is personal, and texts by what stood there."""

    def __init__(self, paths: Iterable[str] = (), documents: Sequence[Any] = ()) -> None:
        self._paths = frozenset(paths)
        words: set[str] = set()
        for document in documents:
            self._collect(document, (), is_personal=False, words=words)
        # The longest first: a name may begin an address.
        ordered = sorted(words, key=len, reverse=True)
        # A word of a longer one is none: "Ann" in "Annual".
        known = "|".join(re.escape(word) for word in ordered)
        self._words = re.compile(rf"(?<!\w)(?:{known})(?!\w)", re.IGNORECASE) if known else None

    def text(self, text: str) -> str:
        """Return a text with everything personal in it that is known as such masked."""
        if self._words is not None:
            text = self._words.sub(lambda match: masked(match[0]), text)
        return MAIL.sub(lambda match: masked(match[0]), text)

    def without(self, text: str, stand_in: str) -> str:
        """Return a text with another in place of everything personal that is known as such."""
        return text if self._words is None else self._words.sub(stand_in, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value masked; what is no text or number keeps its shape."""
        return self._value(value, (), is_personal=False)

    def value_at(self, path: str, value: Any) -> Any:
        """Return the value at a dotted path of a document, masked."""
        return self._value(value, (path,), is_personal=False)

    def record(self, record: Any) -> Any:
        """Return a record of the engine's own masked: a fault, a question, a journal's detail.

        Of a document that is personal as a whole nothing but what was changed of it is there.
        """
        if WHOLE not in self._paths:
            return self.value(record)
        return Mask(["changes"])._value(self._spoken(record), (), is_personal=False)

    def _spoken(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self._spoken(one) for key, one in value.items()}
            case list():
                return [self._spoken(one) for one in value]
            case str():
                return self.text(value)
        return value

    def _value(self, value: Any, path: tuple[str, ...], *, is_personal: bool) -> Any:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                return {
                    key: self._value(one, (*path, str(key)), is_personal=is_personal)
                    for key, one in value.items()
                }
            case list():
                return [self._value(one, path, is_personal=is_personal) for one in value]
            case str():
                return masked(value) if is_personal else self.text(value)
            case bool() | None:
                return value
        return STARS if is_personal else value

    def _collect(
        self, value: Any, path: tuple[str, ...], *, is_personal: bool, words: set[str]
    ) -> None:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                for key, one in value.items():
                    place = (*path, str(key))
                    self._collect(one, place, is_personal=is_personal, words=words)
            case list():
                for one in value:
                    self._collect(one, path, is_personal=is_personal, words=words)
            case str() if is_personal:
                parts = {value.strip(), *(line.strip() for line in value.splitlines())}
                words.update(part for part in parts if len(part) >= SHORTEST)

    def _is_personal(self, path: tuple[str, ...]) -> bool:
        """Say whether a path has one that was declared in it: documents hold others' parts."""
        whole = f".{'.'.join(path)}."
        return WHOLE in self._paths or any(f".{one}." in whole for one in self._paths)


class Unmasked(Mask):
    """Leaves everything as it is: for who was shown it."""

    def text(self, text: str) -> str:
        return text

    def value(self, value: Any) -> Any:
        return value

    def value_at(self, path: str, value: Any) -> Any:
        return value

    def record(self, record: Any) -> Any:
        return record


UNMASKED = Unmasked()


#: Of what no workflow declares anything about: mail addresses are masked all the same.
UNKNOWN = Mask()
