"""Parses the search above a list into the list's own filters: ``state:error since:1h``.  Pure."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from difflib import get_close_matches

from django.utils.translation import gettext as _

from workers.definitions.attributes import typed
from workers.states import ProcessState

#: Word of a search -> parameter of the list's address.
WORDS: Mapping[str, str] = {
    "state": "state",
    "workflow": "workflow",
    "step": "step",
    "agent": "with_agent",
    "fault": "fault",
    "needs": "needs",
    "since": "since",
    "job": "job",
    "incident": "incident",
    "money": "money",
    "ref": "q",
}
#: The parameter of attributes, which are searched for as NAME=VALUE.
WHERE = "where"
#: Words that need no value.
FLAGS: Mapping[str, tuple[str, str]] = {"paused": ("paused", "yes")}
#: Words with a fixed set of values.
VALUES: Mapping[str, tuple[str, ...]] = {
    "state": tuple(ProcessState.values),
    "needs": ("someone", "error", "alert", "expired"),
}
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_PERIOD = re.compile(r"(\d{1,4})([mhd])")
_PART = re.compile(r'"([^"]*)"|([^\W\d]\w*="[^"]*"|\S+)')
_ATTRIBUTE = re.compile(r'([^\W\d]\w*)=(?:"([^"]*)"|([^"\s]\S*))')
_WORD = re.compile(r"([A-Za-z]+):(.*)", re.DOTALL)
#: Comparison of amounts -> lookup.
_LOOKUPS: Mapping[str, str] = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt", "=": "exact"}
_COMPARISON = re.compile(r"([A-Za-z]+)(>=|<=|>|<|=)(.*)", re.DOTALL)
_AMOUNT = r"\d{1,10}(?:\.\d{1,2})?"
_AMOUNTS = re.compile(rf"(>=|<=|>|<|=)({_AMOUNT})|({_AMOUNT})\.\.({_AMOUNT})")


class QueryError(ValueError):
    """A word that cannot be parsed; the message says which, and what can."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Parameters of a list's address; ``q`` is the text to search for."""

    params: dict[str, str]

    @property
    def is_plain(self) -> bool:
        """Say whether nothing but a search was typed."""
        return not self.params.keys() - {"q"}


def parse(
    text: str, filters: Collection[str] | None = None, known: Mapping[str, type] | None = None
) -> ListQuery:
    """Parse a search into parameters; raise ``QueryError`` naming the word that is wrong.

    ``filters`` are the list's; the word of another filter is refused.  None: the list has all.
    ``known`` are the attributes that workflows declare, with their types.
    Quoted text, and text that looks like none of ``WORDS``, is searched for as it is.
    """
    params: dict[str, str] = {}
    search: list[str] = []
    where: list[str] = []
    for quoted, part in _PART.findall(text):
        if part and _names_attribute(part, known or {}):
            where.append(part)
            if len(dict(attributes(" ".join(where)))) < len(where):
                raise QueryError(_("%(word)s is there twice. Leave one.") % {"word": part})
            continue
        if part in FLAGS:
            name, value = FLAGS[part]
            params[name] = value
            continue
        match = _WORD.fullmatch(part) or _comparison(part)
        word = match[1].lower() if match else ""
        if match is None or not _is_word(word):
            search.append(quoted or part)
            continue
        if filters is not None and WORDS[word] not in {*filters, "q"}:
            raise QueryError(
                _("%(word)s is no word of this list, whose rows do not have it. Leave it out.")
                % {"word": word}
            )
        value = _valid(word, "".join(match.groups()[1:]))
        if WORDS[word] == "q":
            search.append(value)
        elif params.setdefault(WORDS[word], value) != value:
            raise QueryError(_("%(word)s: is there twice. Leave one.") % {"word": word})
    if where:
        params[WHERE] = " ".join(where)
    if search:
        params["q"] = " ".join(search)
    return ListQuery(params)


def attributes(text: str) -> list[tuple[str, str]]:
    """Return the attributes of a list's address: names, and values as they were typed."""
    parts = (_ATTRIBUTE.fullmatch(part) for _quoted, part in _PART.findall(text))
    return [(match[1], match[2] or match[3] or "") for match in parts if match]


def _names_attribute(part: str, known: Mapping[str, type]) -> bool:
    match = _ATTRIBUTE.fullmatch(part)
    if match is None:
        return False
    word = {"word": match[1], "value": match[2] or match[3] or ""}
    if match[1] in known:
        try:
            typed(known, word["word"], word["value"])
        except ValueError:
            word["kind"] = known[match[1]].__name__
            raise QueryError(
                _("%(word)s must be a value of type %(kind)s, got %(value)s.") % word
            ) from None
        return True
    if near := get_close_matches(match[1], known, n=1, cutoff=0.75):
        raise QueryError(
            _("%(word)s= is no attribute. Did you mean %(near)s=? Quote it to search for it.")
            % {**word, "near": near[0]}
        )
    return False


def unknown(text: str, filters: Collection[str]) -> str:
    """Return a hint on a part that looks like a word and is none; empty: no part does.

    For a search without results: ``ch:123`` may as well be the text itself.
    """
    for _quoted, part in _PART.findall(text):
        match = _WORD.fullmatch(part)
        if match and match[1].lower() not in WORDS:
            ours = (word for word, param in WORDS.items() if param in {*filters, "q"})
            names = {"word": match[1], "known": ", ".join(f"{word}:" for word in ours)}
            return _("%(word)s: is no word of a list, and was searched for. Words: %(known)s") % (
                names
            )
    return ""


def _comparison(part: str) -> re.Match[str] | None:
    """Return the match of a comparison of ``money``; None for anything else, such as a=b."""
    match = _COMPARISON.fullmatch(part)
    return match if match and match[1].lower() == "money" else None


def _is_word(word: str) -> bool:
    if word in WORDS:
        return True
    near = get_close_matches(word, WORDS, n=1, cutoff=0.75)
    if near:
        raise QueryError(
            _("%(word)s: is no word of a list. Did you mean %(near)s:? Quote it to search for it.")
            % {"word": word, "near": near[0]}
        )
    return False


def _valid(word: str, value: str) -> str:
    names = {"word": word, "value": value}
    if not value:
        raise QueryError(_("%(word)s: needs a value behind it, without a space.") % names)
    values = VALUES.get(word)
    if values and value not in values:
        names["known"] = ", ".join(values)
        raise QueryError(_("%(word)s: must be one of %(known)s, got %(value)s.") % names)
    if word == "since" and period(value) is None:
        raise QueryError(
            _("%(word)s: must be a number with m, h or d, such as 1h, got %(value)s.") % names
        )
    if word == "money" and not amounts(value):
        raise QueryError(
            _(
                "money must be compared with an amount, such as money>100, money<=99.50 or"
                " money:100..500, got %(value)s."
            )
            % names
        )
    if word in ("job", "incident") and not re.fullmatch(r"\d{1,18}(:\w+)?", value, re.ASCII):
        raise QueryError(_("%(word)s: must be a number, got %(value)s.") % names)
    return value


def period(text: str) -> timedelta | None:
    """Parse a period such as ``90m``, ``1h`` or ``7d``; None: it is none."""
    match = _PERIOD.fullmatch(text) if text.isascii() else None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else None


def amounts(text: str) -> dict[str, Decimal]:
    """Parse ``>100``, ``<=99.50`` or ``100..500`` into lookups of an amount.

    Empty: it is no comparison, or no amount can match it.
    """
    match = _AMOUNTS.fullmatch(text) if text.isascii() else None
    if match is None:
        return {}
    sign, amount, least, most = match.groups()
    if sign:
        return {_LOOKUPS[sign]: Decimal(amount)}
    return {"gte": Decimal(least), "lte": Decimal(most)} if Decimal(least) <= Decimal(most) else {}


def searched(text: str) -> str:
    """Return the text that a search without filters looks for: as typed but for quotes and ref."""
    try:
        query = parse(text)
    except QueryError:
        return text
    return query.params["q"] if query.is_plain and query.params else text
