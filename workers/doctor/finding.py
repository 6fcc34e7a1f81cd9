"""What a probe has to say."""

from dataclasses import asdict, dataclass
from enum import StrEnum


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
    """One thing that was looked at: what is so, why it matters, and what to do."""

    level: Level
    what: str
    why: str = ""
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def ok(what: str) -> Finding:
    return Finding(Level.OK, what)


def info(what: str, why: str = "", remedy: str = "") -> Finding:
    return Finding(Level.INFO, what, why, remedy)


def warning(what: str, why: str, remedy: str) -> Finding:
    return Finding(Level.WARNING, what, why, remedy)


def error(what: str, why: str, remedy: str) -> Finding:
    return Finding(Level.ERROR, what, why, remedy)
