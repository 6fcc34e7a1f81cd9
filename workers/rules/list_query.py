"""What somebody types above a list, as the list's own filters: ``state:error since:1h``.  Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches

from django.utils.translation import gettext as _

from workers.states import ProcessState

#: What is typed -> the parameter of the list's address.
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
    "ref": "q",
}
#: Words that need no value.
FLAGS: Mapping[str, tuple[str, str]] = {"paused": ("paused", "yes")}
#: Of words whose values are few.
VALUES: Mapping[str, tuple[str, ...]] = {
    "state": tuple(ProcessState.values),
    "needs": ("someone", "error", "alert", "expired"),
}
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_PERIOD = re.compile(r"(\d{1,4})([mhd])")
_PART = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"([A-Za-z]+):(.*)", re.DOTALL)


class QueryError(ValueError):
    """A word that cannot be understood; says which, and what would be."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Parameters of a list's address; what is left is searched for."""

    params: dict[str, str]

    @property
    def is_plain(self) -> bool:
        """Say whether nothing but a search was typed."""
        return not self.params.keys() - {"q"}


def parse(text: str) -> ListQuery:
    """Return what was typed as parameters; raise ``QueryError`` naming the word that is wrong.

    What stands in quotes, and what looks like no word of ours, is searched for as it is.
    """
    params: dict[str, str] = {}
    search: list[str] = []
    for quoted, part in _PART.findall(text):
        if part in FLAGS:
            name, value = FLAGS[part]
            params[name] = value
            continue
        match = _WORD.fullmatch(part)
        word = match[1].lower() if match else ""
        if match is None or not _is_word(word):
            search.append(quoted or part)
            continue
        value = _checked(word, match[2])
        if WORDS[word] == "q":
            search.append(value)
        elif params.setdefault(WORDS[word], value) != value:
            raise QueryError(_("%(word)s: is there twice. Leave one.") % {"word": word})
    if search:
        params["q"] = " ".join(search)
    return ListQuery(params)


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


def _checked(word: str, value: str) -> str:
    names = {"word": word, "value": value}
    if not value:
        raise QueryError(_("%(word)s: needs a value behind it, without a space.") % names)
    known = VALUES.get(word)
    if known and value not in known:
        names["known"] = ", ".join(known)
        raise QueryError(_("%(word)s: must be one of %(known)s, got %(value)s.") % names)
    if word == "since" and period(value) is None:
        raise QueryError(
            _("%(word)s: must be a number with m, h or d, such as 1h, got %(value)s.") % names
        )
    if word in ("job", "incident") and not re.fullmatch(r"\d{1,18}(:\w+)?", value, re.ASCII):
        raise QueryError(_("%(word)s: must be a number, got %(value)s.") % names)
    return value


def period(text: str) -> timedelta | None:
    """Return a period such as ``90m``, ``1h`` or ``7d``; None: it is none."""
    match = _PERIOD.fullmatch(text) if text.isascii() else None
    return timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else None
