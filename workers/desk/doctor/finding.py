"""What a probe has to say."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workers.definitions.sentences import in_words, kept


class Level(StrEnum):
    """How bad it is; the order is that of the members."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        return list(Level).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what is so, why it matters, and what to do.

    A text is a sentence with parameters (``workers.definitions.sentences``), or as it is.
    """

    level: Level
    what: str
    why: str = ""
    remedy: str = ""

    @property
    def texts(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why, "remedy": self.remedy}

    def in_words(self) -> dict[str, str]:
        """Return it in the reader's language."""
        said = {name: in_words(text) for name, text in self.texts.items()}
        return {"level": str(self.level), **said}

    def kept(self) -> dict[str, Any]:
        """Return what is kept of it, to be put into words when it is read."""
        return {"level": str(self.level)} | {name: kept(text) for name, text in self.texts.items()}


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def info(what: str, why: str = "", remedy: str = "") -> Finding:
    return Finding(Level.INFO, what, why, remedy)


def warning(what: str, why: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, what, why, remedy)


def error(what: str, why: str, remedy: str) -> Finding:
    return Finding(Level.ERROR, what, why, remedy)
