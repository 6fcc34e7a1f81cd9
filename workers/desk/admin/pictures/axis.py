"""A time axis in per cent of its width, on which long gaps are folded.  Pure."""

import itertools
from bisect import bisect_right
from collections.abc import Iterable
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


def make(
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
