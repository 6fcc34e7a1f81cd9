"""A table of text, and how figures are written in it."""

from dataclasses import dataclass
from typing import Any

NONE = "-"


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    note: str = ""


def number(value: Any) -> str:
    """Return a figure for people; a dash where there is none."""
    if value is None:
        return NONE
    if isinstance(value, float) and abs(value) < 1000:
        return f"{value:.3g}"
    return f"{value:,.0f}" if isinstance(value, int | float) else str(value)
