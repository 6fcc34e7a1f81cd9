"""Mask personal data in documents and texts.  Pure.

A workflow declares which parts of its input are personal (``Workflow(personal=...)``).  The values
there are masked in the input itself, in results, in the journal's details, and in every text that
repeats them: a fault, a reason.  Mail addresses are masked in any text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

#: Shown in place of the masked part.
STARS = "***"
#: The path of the whole document.
WHOLE = ""
MAIL = re.compile(r"[\w.+#!$%*^`{|}~-][\w.+#!$%*^`{|}~'&-]*@[\w-]+(?:\.[\w-]+)+")
#: A shorter text would match unrelated ones.
SHORTEST = 3
#: Han, kana and hangul: one character may be a word, and two may be a name.
EAST_ASIAN = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U00020000-\U0003ffff]"
)
SHORTEST_EAST_ASIAN = 2
#: A number that may stand for anything in another text: a year, a quantity, a sum of money.
_ANY_NUMBER = re.compile(r"\d{1,6}|\d+[.,]\d{1,2}")
#: What the engine itself writes into its records: names out of the code, instants, states, actors.
_OWN = {
    *("step", "agent", "from_agent", "to_agent", "kind", "code", "verb", "permission", "request"),
    *("amount", "asked_by", "locked_by", "claim", "claimed_at", "started_at", "complete_by", "at"),
    *("deadline_at", "reported_at", "since", "until", "not_before", "undo", "lasting"),
    *("begins_again", "in_doubt", "may_be_undone", "answered", "by_hand", "owner", "after"),
}
#: Records within records, and what others wrote in them.
_RECORDS, _FOREIGN = frozenset({"fault", "answer"}), frozenset({"changes", "result"})
#: The most words in a name, and the most characters in an East Asian name without a space.
MOST_WORDS, LONGEST_CUT = 4, 6
_BETWEEN_WORDS = re.compile(r"[\s\u30fb\uff65]+")
_LETTERS = re.compile("[^\\W\\d_]+(?:['\u2019.-][^\\W\\d_]+)*\\.?")
_KATAKANA = re.compile("[\u30a0-\u30ff\uff66-\uff9f]+")


def masked(text: str) -> str:
    """Return a personal text as ``a***@example.org`` or ``A***``; what was erased stays ``***``.

    A text that begins with an East Asian character becomes ``***``: that may be a family name.
    """
    if text == STARS:
        return text
    name, at, domain = text.strip().rpartition("@")
    if at and MAIL.fullmatch(text.strip()):
        return f"{_first(name)}{STARS}@{domain}"
    return f"{_first(text.strip())}{STARS}" if text.strip() else text


def covers(paths: Iterable[str], path: Iterable[str]) -> bool:
    """Say whether a declared path occurs in ``path``: documents may embed parts of others."""
    whole = f".{'.'.join(path)}."
    return any(not declared or f".{declared}." in whole for declared in paths)


def _first(text: str) -> str:
    return "" if EAST_ASIAN.match(text) else text[:1]


def _is_telling(word: str) -> bool:
    """Say whether a word is worth looking for in other texts: long enough, and no mere number."""
    if _ANY_NUMBER.fullmatch(word):
        return False
    return len(word) >= (SHORTEST_EAST_ASIAN if EAST_ASIAN.match(word) else SHORTEST)


def _pattern(word: str) -> str:
    """Return a pattern that matches a whole word: "Ann", but not in "Annual".

    East Asian texts have no spaces between words, so there it matches anywhere.
    """
    before = "" if EAST_ASIAN.match(word[0]) else r"(?<!\w)"
    after = "" if EAST_ASIAN.match(word[-1]) else r"(?!\w)"
    return f"{before}{re.escape(word)}{after}"


def _parts(line: str) -> Iterator[str]:
    """Yield the parts of what may be a full name by which people may call its bearer.

    An East Asian name is written without spaces, so its given name may begin anywhere: yield each
    prefix and each suffix of two characters or more.
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
    """Masks documents by their personal paths, and texts by the values found there."""

    #: What stands in place of a personal text.
    _stand_in = staticmethod(masked)

    def __init__(self, paths: Iterable[str] = (), documents: Sequence[Any] = ()) -> None:
        self._paths = frozenset(paths)
        words: set[str] = set()
        for document in documents:
            self._collect(document, (), is_personal=False, words=words)
        parts = {part for word in words for part in _parts(word) if _is_telling(part)}
        # The longest first: an address may begin with a name.
        ordered = sorted(words | parts, key=len, reverse=True)
        # A part of a name may be an ordinary word as well: match "Will", but not "will".
        pattern = "|".join(
            _pattern(word) if word in words else f"(?-i:{_pattern(word)})" for word in ordered
        )
        self._words = re.compile(pattern, re.IGNORECASE) if pattern else None

    def text(self, text: str) -> str:
        """Return a text with every known personal value and mail address in it masked."""
        if self._words is not None:
            text = self._words.sub(lambda match: self._stand_in(match[0]), text)
        return MAIL.sub(lambda match: self._stand_in(match[0]), text)

    def without(self, text: str, stand_in: str) -> str:
        """Return a text with ``stand_in`` in place of every known personal value."""
        return text if self._words is None else self._words.sub(stand_in, text)

    def value(self, value: Any) -> Any:
        """Return a JSON value masked; objects, lists, booleans and null keep their shape."""
        return self._value(value, (), is_personal=False)

    def value_at(self, path: str, value: Any) -> Any:
        """Return the value at a dotted path of a document, masked."""
        return self._value(value, (path,), is_personal=False)

    def record(self, record: Any) -> Any:
        """Return one of the engine's own records masked: a fault, a question, a journal's detail.

        What the engine wrote stays, whatever a person is called.  If the whole document is
        personal, of a record the changed values and results are, and texts that repeat a value.
        """
        if not isinstance(record, dict):
            return self._mask_texts(record)
        return {key: self._item(key, item) for key, item in record.items()}

    def _item(self, key: str, item: Any) -> Any:
        if key in _OWN:
            return item
        if key in _RECORDS:
            return self.record(item)
        if WHOLE in self._paths and key not in _FOREIGN:
            return self._mask_texts(item)
        return self._value(item, (key,), is_personal=False)

    def _mask_texts(self, value: Any) -> Any:
        match value:
            case dict():
                return {key: self._mask_texts(item) for key, item in value.items()}
            case list():
                return [self._mask_texts(item) for item in value]
            case str():
                return self.text(value)
        return value

    def _value(self, value: Any, path: tuple[str, ...], *, is_personal: bool) -> Any:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                return {
                    key: self._value(item, (*path, str(key)), is_personal=is_personal)
                    for key, item in value.items()
                }
            case list():
                return [self._value(item, path, is_personal=is_personal) for item in value]
            case str():
                return self._stand_in(value) if is_personal else self.text(value)
            case bool() | None:
                return value
        return STARS if is_personal else value

    def _collect(
        self, value: Any, path: tuple[str, ...], *, is_personal: bool, words: set[str]
    ) -> None:
        is_personal = is_personal or self._is_personal(path)
        match value:
            case dict():
                for key, item in value.items():
                    item_path = (*path, str(key))
                    self._collect(item, item_path, is_personal=is_personal, words=words)
            case list():
                for item in value:
                    self._collect(item, path, is_personal=is_personal, words=words)
            case str() if is_personal:
                parts = {value.strip(), *(line.strip() for line in value.splitlines())}
                words.update(part for part in parts if _is_telling(part))

    def _is_personal(self, path: tuple[str, ...]) -> bool:
        return covers(self._paths, path)


class Eraser(Mask):
    """Leaves ``***`` of every personal value, for what is to be forgotten.

    Of texts only those values go: another mail address may say who acted.
    """

    _stand_in = staticmethod(lambda text: STARS if text.strip() else text)

    def text(self, text: str) -> str:
        return self.without(text, STARS)


class Unmasked(Mask):
    """Leaves everything as it is: for people who may see personal data."""

    def text(self, text: str) -> str:
        return text

    def value(self, value: Any) -> Any:
        return value

    def value_at(self, path: str, value: Any) -> Any:
        return value

    def record(self, record: Any) -> Any:
        return record


UNMASKED = Unmasked()


#: For texts about which no workflow declares anything: masks only mail addresses.
UNKNOWN = Mask()
