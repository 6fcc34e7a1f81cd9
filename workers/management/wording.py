"""Words that several commands print."""

from datetime import datetime

from workers.runtime import timestamps
from workers.runtime.visible_text import visible


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, as in "1 error" and "0 sinks"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def instant(at: datetime) -> str:
    """Return an instant for people: date, time of day and time zone."""
    return timestamps.full(at)


def one_line(text: str) -> str:
    """Return a text of others on one line, with control characters made visible."""
    return visible(text)
