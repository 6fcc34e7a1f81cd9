"""Findings of probes, and their levels."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.definitions.sentences import in_words, kept
from workers.definitions.sentences import say as _

#: Why what a system check says matters.
REFUSED = _("What the system checks refuse fails, now or later.")


class Level(StrEnum):
    """How bad a finding is; members are in ascending order."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a probe: what it found, why that matters, and what to do.

    A text is a sentence with parameters (``workers.definitions.sentences``), or plain.
    """

    level: Level
    what: str
    why: str = ""
    remedy: str = ""
    #: Id of the system check that it is, for commands that run checks.
    check: str = ""

    @property
    def texts(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why, "remedy": self.remedy}

    def in_words(self) -> dict[str, str]:
        """Return its level and texts in the reader's language."""
        words = {name: in_words(text) for name, text in self.texts.items()}
        return {"level": str(self.level), **words}

    def kept(self) -> dict[str, Any]:
        """Return its level and texts for storage, to be put into words when they are read."""
        return {"level": str(self.level)} | {name: kept(text) for name, text in self.texts.items()}


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def info(what: str, why: str = "", remedy: str = "") -> Finding:
    return Finding(Level.INFO, what, why, remedy)


def warning(what: str, why: str, remedy: str, *, check: str = "") -> Finding:
    return Finding(Level.WARNING, what, why, remedy, check)


def error(what: str, why: str, remedy: str, *, check: str = "") -> Finding:
    return Finding(Level.ERROR, what, why, remedy, check)
