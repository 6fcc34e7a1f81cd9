"""Figures over time as a plot, in per cent of its width and height, and its time axis.  Pure.

Long gaps of an axis are folded.  Shapes are stretched to the available width; none has text.
"""

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

#: A gap in which nothing happens is folded when it is longer.
FOLDED_SECONDS = 30.0
#: The same for the future, which is empty and takes room from what has happened.
FOLDED_FUTURE_SECONDS = 2.0
#: Room of a fold, in per cent; all together take no more than ``FOLDS_ROOM``.
FOLD_ROOM = 4.0
FOLDS_ROOM = 40.0
#: Left free at both ends, for marks that stand on them.
MARGIN = 2.0
#: Nearer labels would overlap on a phone.
LABEL_ROOM = 30.0


@dataclass(frozen=True, slots=True)
class Fold:
    """A gap that is not drawn to scale."""

    left: float
    width: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    at: datetime

    @property
    def anchor(self) -> str:
        """Return which end of the label stands on the tick, so that none is cut off."""
        return "start" if self.x < 12 else "end" if self.x > 88 else "middle"


@dataclass(frozen=True, slots=True)
class Axis:
    #: Instants in order, with their positions.
    knots: tuple[tuple[datetime, float], ...]
    folds: tuple[Fold, ...]
    #: Seconds that are drawn to scale.
    drawn_seconds: float

    @property
    def begin(self) -> datetime:
        return self.knots[0][0]

    @property
    def end(self) -> datetime:
        return self.knots[-1][0]

    def has(self, at: datetime) -> bool:
        return self.begin <= at <= self.end

    def x(self, at: datetime) -> float:
        """Return the position of an instant; beyond either end, that of the end."""
        if at <= self.begin:
            return self.knots[0][1]
        if at >= self.end:
            return self.knots[-1][1]
        after = bisect_right(self.knots, at, key=lambda knot: knot[0])
        (left_at, left), (right_at, right) = self.knots[after - 1], self.knots[after]
        return left + (right - left) * ((at - left_at) / (right_at - left_at))

    def ticks(self) -> list[Tick]:
        """Return the instants that get labels, none nearer to another than a label is wide."""
        candidates = [tick for tick in self._candidates() if tick is not None]
        last = Tick(self.knots[-1][1], self.end)
        ticks: list[Tick] = []
        for tick in candidates:
            is_clear = not ticks or tick.x - ticks[-1].x >= LABEL_ROOM
            if is_clear and last.x - tick.x >= LABEL_ROOM:
                ticks.append(tick)
        return [*ticks, last]

    def _candidates(self) -> Iterable[Tick]:
        for (left_at, left), (right_at, right) in zip(self.knots, self.knots[1:], strict=False):
            yield Tick(left, left_at)
            if any(fold.left == left for fold in self.folds):
                continue
            parts = int((right - left) // LABEL_ROOM)
            for part in range(1, parts):
                share = part / parts
                yield Tick(left + (right - left) * share, left_at + (right_at - left_at) * share)


def axis_of(
    instants: Iterable[datetime],
    busy: Iterable[tuple[datetime, datetime]] = (),
    now: datetime | None = None,
) -> Axis:
    """Return the axis that all instants lie on; gaps in a ``busy`` stretch are not folded.

    ``now`` separates the past from the future, and is None if there is no future.
    """
    stretches = _merge(busy)
    points = sorted({*instants, *(end for stretch in stretches for end in stretch)})
    if not points:
        raise ValueError("An axis must have an instant, got none.")
    if len(points) == 1:
        points.append(points[0] + timedelta(seconds=1))
    pairs = list(itertools.pairwise(points))
    folded = [_is_folded(left, right, stretches, now) for left, right in pairs]
    lengths = [(right - left).total_seconds() for left, right in pairs]
    drawn_seconds = sum(
        length for length, is_folded in zip(lengths, folded, strict=True) if not is_folded
    )
    count = sum(folded)
    room = 100.0 - 2 * MARGIN
    fold_room = min(FOLD_ROOM, FOLDS_ROOM / count) if count else 0.0
    if not drawn_seconds and count:
        # Nothing but gaps: they share the room.
        fold_room = room / count
    scale = (room - count * fold_room) / drawn_seconds if drawn_seconds else 0.0
    x, knots, folds = MARGIN, [(points[0], MARGIN)], []
    for (_left, right), length, is_folded in zip(pairs, lengths, folded, strict=True):
        width = fold_room if is_folded else length * scale
        if is_folded:
            folds.append(Fold(x, width, length))
        x += width
        knots.append((right, x))
    return Axis(tuple(knots), tuple(folds), drawn_seconds)


def _is_folded(
    left: datetime,
    right: datetime,
    busy: list[tuple[datetime, datetime]],
    now: datetime | None,
) -> bool:
    if any(begin <= left and right <= end for begin, end in busy):
        return False
    is_future = now is not None and left >= now
    bound = FOLDED_FUTURE_SECONDS if is_future else FOLDED_SECONDS
    return (right - left).total_seconds() > bound


def _merge(busy: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    stretches: list[tuple[datetime, datetime]] = []
    for begin, end in sorted(busy):
        if stretches and begin <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((begin, end))
    return stretches


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
    return Scale(axis_of([begins[0], end], [(begins[0], end)]), begins, end, top_of(values))


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
