"""What is personal in documents and texts, and how it is masked.  Pure.

A workflow declares which parts of its input are personal (``Workflow(personal=...)``).  What
stands there is masked in the input itself, in results, in the journal's details and, being known
then, in every text that repeats it: a fault, a reason.  Mail addresses are masked in any text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: Shown in place of what is left out.
STARS = "***"
#: The path of everything.
WHOLE = ""
MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
#: A shorter text would be found in others that have nothing to do with it.
SHORTEST = 3
#: Han, kana and hangul: a character of them is a word, and a name may be of two.
EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
SHORTEST_EAST_ASIAN = 2
#: What may be a name: some words of letters, and East Asian ones without a blank of so many.
MOST_WORDS, LONGEST_CUT = 4, 6
_BETWEEN_WORDS = re.compile(r"[\s\u30fb\uff65]+")
_LETTERS = re.compile("[^\\W\\d_]+(?:['\u2019.-][^\\W\\d_]+)*\\.?")
_KATAKANA = re.compile("[\u30a0-\u30ff\uff66-\uff9f]+")


def masked(text: str) -> str:
    """Return a personal text as ``a***@example.org`` or ``A***``.

    Of one that begins with an East Asian character nothing is left: the first is a family name.
    """
    name, at, domain = text.strip().rpartition("@")
    if at and MAIL.fullmatch(text.strip()):
        return f"{_first(name)}{STARS}@{domain}"
    return f"{_first(text.strip())}{STARS}" if text.strip() else text


def _first(text: str) -> str:
    return "" if EAST_ASIAN.match(text) else text[:1]


def _is_told_apart(word: str) -> bool:
    """Say whether a word is long enough to be looked for in other texts."""
    return len(word) >= (SHORTEST_EAST_ASIAN if EAST_ASIAN.match(word) else SHORTEST)


def _pattern(word: str) -> str:
    """Return what finds a word, and not in a longer one: "Ann" in "Annual".

    East Asian texts have no spaces between words: there it is found wherever it stands.
    """
    before = "" if EAST_ASIAN.match(word[0]) else r"(?<!\w)"
    after = "" if EAST_ASIAN.match(word[-1]) else r"(?!\w)"
    return f"{before}{re.escape(word)}{after}"


def _parts(line: str) -> Iterator[str]:
    """Yield what people call somebody by whose whole name this may be: by one of its words.

    An East Asian name is written without blanks, and nobody knows where its given name begins:
    each beginning and each end of two characters or more may be meant.
    """
    words = _BETWEEN_WORDS.split(line)
    if len(words) > MOST_WORDS or not all(_LETTERS.fullmatch(word) for word in words):
        return
    if all(map(EAST_ASIAN.match, words)):
        yield "".join(words)
    for word in words:
        if not EAST_ASIAN.match(word):
            if word[0].isupper() and len(words) > 1:
                yield word
            continue
        yield word
        if len(word) <= LONGEST_CUT and not _KATAKANA.fullmatch(word):
            for cut in range(SHORTEST_EAST_ASIAN, len(word)):
                yield from (word[:cut], word[-cut:])


class Mask:
    """Masks documents by the paths of what is personal, and texts by what stood there."""

    def __init__(self, paths: Iterable[str] = (), documents: Sequence[Any] = ()) -> None:
        self._paths = frozenset(paths)
        words: set[str] = set()
        for document in documents:
            self._collect(document, (), is_personal=False, words=words)
        parts = {part for word in words for part in _parts(word) if _is_told_apart(part)}
        # The longest first: a name may begin an address.
        ordered = sorted(words | parts, key=len, reverse=True)
        # A part of a name may be a word as well: "Will" is somebody, "will" is nobody.
        known = "|".join(
            _pattern(word) if word in words else f"(?-i:{_pattern(word)})" for word in ordered
        )
        self._words = re.compile(known, re.IGNORECASE) if known else None

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
                words.update(part for part in parts if _is_told_apart(part))

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


#: For texts no workflow declares anything about: mail addresses are masked all the same.
UNKNOWN = Mask()
