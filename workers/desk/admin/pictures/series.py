"""Figures over time as a chart: columns and lines in per cent of its width and height.  Pure.

Shapes are stretched to the available width, and contain no text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from workers.desk.admin.pictures import axis
from workers.desk.admin.pictures.axis import Axis, Tick

#: The heights that a chart's top may have, in the powers of ten.
_TOPS = (1.0, 2.0, 5.0, 10.0)
#: Part of a column that is left free beside it.
GAP = 0.15


@dataclass(frozen=True, slots=True)
class Shape:
    """One series: its name, which the stylesheet and the legend know, and its outline."""

    name: str
    path: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text on an axis."""

    x: str
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on a plot, or a stretch of it, with its title under the pointer."""

    x: str
    title: str
    width: str = ""
    kind: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the columns of a chart lie, and how high its top is."""

    axis: Axis
    begins: Sequence[datetime]
    end: datetime
    top: float = 1.0

    @property
    def ticks(self) -> list[Tick]:
        return self.axis.ticks()

    def edges(self, index: int) -> tuple[float, float]:
        """Return where a column begins and ends."""
        begins = self.begins
        end = begins[index + 1] if index + 1 < len(begins) else self.end
        return self.axis.x(begins[index]), self.axis.x(end)

    def y(self, value: float) -> float:
        return 100 - 100 * min(value, self.top) / self.top


def scale(begins: Sequence[datetime], end: datetime, values: Sequence[float | None]) -> Scale:
    """Return the scale on which all ``values`` have room."""
    return Scale(axis.make([begins[0], end], [(begins[0], end)]), begins, end, top_of(values))


def top_of(values: Sequence[float | None]) -> float:
    """Return a round number that no value exceeds."""
    most = max((value for value in values if value is not None), default=0.0)
    if most <= 0:
        return 1.0
    power = 1.0
    while power > most:
        power /= 10
    while power * 10 <= most:
        power *= 10
    # A rounding error at the fifteenth digit must not double the height.
    return next(power * top for top in _TOPS if power * top >= most * (1 - 1e-9))


def stacked(on: Scale, columns: Sequence[Mapping[str, float]], names: Sequence[str]) -> list[Shape]:
    """Return a shape for each name; those of one column are stacked in the order of ``names``."""
    paths: dict[str, list[str]] = {name: [] for name in names}
    for index, column in enumerate(columns):
        left, right = on.edges(index)
        width, below = (right - left) * (1 - GAP), 0.0
        for name in names:
            value = column.get(name, 0.0)
            if value <= 0:
                continue
            low, high = on.y(below), on.y(below + value)
            paths[name].append(f"M{_n(left)} {_n(low)}V{_n(high)}h{_n(width)}V{_n(low)}z")
            below += value
    return [Shape(name, "".join(path)) for name, path in paths.items() if path]


def line(on: Scale, name: str, values: Sequence[float | None]) -> Shape:
    """Return a line through the middles of columns, broken where there is no value."""
    parts, is_drawn = [], False
    for index, value in enumerate(values):
        if value is None:
            is_drawn = False
            continue
        left, right = on.edges(index)
        x, y = _n((left + right) / 2), _n(on.y(value))
        # A value between two gaps would be a line without a length.
        is_alone = not is_drawn and (index + 1 == len(values) or values[index + 1] is None)
        parts.append(
            f"M{_n(left)} {y}H{_n(right)}" if is_alone else f"{'L' if is_drawn else 'M'}{x} {y}"
        )
        is_drawn = not is_alone
    return Shape(name, "".join(parts))


def bands(on: Scale, names: Sequence[str | None]) -> list[Shape]:
    """Return a shape for each name that occurs: the columns that have it, in full height."""
    paths: dict[str, list[str]] = {}
    for index, name in enumerate(names):
        if name is not None:
            left, right = on.edges(index)
            paths.setdefault(name, []).append(f"M{_n(left)} 0H{_n(right)}V100H{_n(left)}z")
    return [Shape(name, "".join(path)) for name, path in sorted(paths.items())]


def spots(on: Scale, titles: Sequence[str]) -> list[Mark]:
    """Return the columns with their titles."""
    edges = [on.edges(index) for index in range(len(titles))]
    return [
        Mark(percent(left), title, percent(right - left))
        for (left, right), title in zip(edges, titles, strict=True)
    ]


def percent(value: float) -> str:
    return f"{_n(value)}%"


def _n(value: float) -> str:
    """Return a number as SVG reads it, whatever the language."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
