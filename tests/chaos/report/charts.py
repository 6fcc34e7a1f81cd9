"""Quantities over time, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

LEFT, RIGHT, WIDTH = 132, 14, 1040
#: From the bottom of the pile to its top: what has ended lies below.
STATES = (
    "processed", "compensated", "cancelled", "error", "compensating", "processing", "pending",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """Seconds to places on the page."""

    seconds: float

    def x(self, at: float) -> float:
        share = min(max(at / self.seconds, 0.0), 1.0) if self.seconds else 0.0
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def ticks(self) -> list[float]:
        step = next(
            (s for s in (5, 10, 15, 30, 60, 120, 300, 600, 1200) if self.seconds / s <= 10), 3600
        )
        return [step * n for n in range(int(self.seconds // step) + 1)]


def pile(samples: Sequence[dict[str, Any]], scale: Scale, top: float, height: float) -> str:
    """Return the orders by state as areas piled up, and the accepted ones as a line.

    Where the database did not answer there is a gap.
    """
    most = max([1, *(sum((s["states"] or {}).values()) for s in samples)])
    most = max(most, *(s["accepted"] for s in samples)) if samples else most

    def y(count: float) -> float:
        return round(top + height * (1 - count / most), 1)

    drawn = [_axis(scale, top, height, most)]
    for stretch in _stretches(samples):
        base = [0.0] * len(stretch)
        for state in STATES:
            upper = [b + s["states"].get(state, 0) for b, s in zip(base, stretch, strict=True)]
            if upper != base:
                there = [f"{scale.x(s['at'])},{y(u)}" for s, u in zip(stretch, upper, strict=True)]
                back = [f"{scale.x(s['at'])},{y(b)}" for s, b in zip(stretch, base, strict=True)]
                points = " ".join([*there, *reversed(back)])
                drawn.append(f'<polygon points="{points}" style="fill:var(--{state})"/>')
            base = upper
    asked = " ".join(f"{scale.x(s['at'])},{y(s['accepted'])}" for s in samples)
    drawn.append(f'<polyline class="asked" points="{asked}"/>')
    return "".join(drawn)


def line(
    samples: Sequence[dict[str, Any]], field: str, scale: Scale, top: float, height: float
) -> str:
    """Return one figure as a line from zero to its most."""
    values = [(scale.x(s["at"]), s[field]) for s in samples if s["states"] is not None]
    most = max([1.0, *(value for _, value in values)])
    points = " ".join(f"{x},{top + height * (1 - value / most):.1f}" for x, value in values)
    return f'{_axis(scale, top, height, most)}<polyline class="line" points="{points}"/>'


def _stretches(samples: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    found: list[list[dict[str, Any]]] = [[]]
    for sample in samples:
        if sample["states"] is None:
            found.append([])
        else:
            found[-1].append(sample)
    return [stretch for stretch in found if len(stretch) > 1]


def _axis(scale: Scale, top: float, height: float, most: float) -> str:
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = round(top + height * (1 - share), 1)
        drawn.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        number = f"{most * share:.0f}"
        drawn.append(
            f'<text class="soft" x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{number}</text>'
        )
    return "".join(drawn)


def gaps(samples: Sequence[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return from when to when the database did not answer."""
    found = []
    since = None
    for before, sample in pairwise(samples):
        if sample["states"] is None and since is None:
            since = before["at"]
        if sample["states"] is not None and since is not None:
            found.append((since, sample["at"]))
            since = None
    return found
