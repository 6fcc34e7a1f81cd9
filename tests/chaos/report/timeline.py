"""One picture of a run: orders, faults, and a lane for every process, over the same time."""

from html import escape
from itertools import pairwise
from typing import Any

from tests.chaos.report.charts import LEFT, RIGHT, WIDTH, Scale, pile

PILE_HEIGHT = 190
FAULT_HEIGHT, LANE_HEIGHT = 17, 17
TOP = 12
SHORTEST = 3.0
KINDS = ("postgresql", "rabbitmq", "redis", "sandbox", "web", "consumer", "beat")


def draw(found: dict[str, Any]) -> str:
    """Return the picture as SVG; every mark says on hovering what it was."""
    scale = Scale(max(found["seconds"], 1.0))
    faults = list(found["faults"])
    lanes = sorted(found["lanes"], key=_place)
    faults_top = TOP + PILE_HEIGHT + 30
    lanes_top = faults_top + FAULT_HEIGHT * len(faults) + 22
    bottom = lanes_top + LANE_HEIGHT * len(lanes)
    drawn = [
        _times(scale, bottom),
        pile(found["samples"], scale, TOP, PILE_HEIGHT),
        _label("orders", TOP + 10, bold=True),
        *(
            _fault(found, name, scale, faults_top + FAULT_HEIGHT * n)
            for n, name in enumerate(faults)
        ),
        *(_lane(found, name, scale, lanes_top + LANE_HEIGHT * n) for n, name in enumerate(lanes)),
        _edge(scale, found["faults_ended"], bottom, "faults end"),
        _edge(scale, found["at_rest"], bottom, "at rest") if found["at_rest"] else "",
    ]
    size = f"0 0 {WIDTH} {bottom + 26}"
    says = f"{found['title']}: orders by state, faults and processes over {found['seconds']} s"
    return f'<svg viewBox="{size}" role="img" aria-label="{escape(says)}">{"".join(drawn)}</svg>'


def _fault(found: dict[str, Any], name: str, scale: Scale, y: float) -> str:
    drawn = [_label(name, y + 11)]
    for mark in found["marks"]:
        if mark["fault"] != name:
            continue
        x = scale.x(mark["began"])
        wide = scale.x(mark["ended"]) - x if mark["ended"] is not None else 0.0
        says = f"<title>{mark['began']:.1f} s: {escape(mark['says'])}</title>"
        if wide < SHORTEST:
            drawn.append(f'<circle class="mark" cx="{x}" cy="{y + 7}" r="3.2">{says}</circle>')
        else:
            drawn.append(
                f'<rect class="mark" x="{x}" y="{y + 3}" width="{wide:.1f}" height="8" rx="4">'
                f"{says}</rect>"
            )
    return "".join(drawn)


def _lane(found: dict[str, Any], name: str, scale: Scale, y: float) -> str:
    track = [*found["lanes"][name], [found["seconds"], ""]]
    drawn = [_label(name, y + 11)]
    for (since, state), (until, _) in pairwise(track):
        if state == "gone":
            continue
        x = scale.x(since)
        wide = max(scale.x(until) - x, 1.0 if state != "up" else 0.0)
        says = f"<title>{escape(name)} {state} from {since:.1f} s to {until:.1f} s</title>"
        drawn.append(
            f'<rect x="{x}" y="{y + 2}" width="{wide:.1f}" height="{LANE_HEIGHT - 6}"'
            f' style="fill:var(--{state})">{says}</rect>'
        )
    return "".join(drawn)


def _times(scale: Scale, bottom: float) -> str:
    drawn = []
    for tick in scale.ticks():
        x = scale.x(tick)
        drawn.append(f'<line class="rule" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>')
        text = f"{tick:.0f} s"
        drawn.append(
            f'<text class="soft" x="{x}" y="{bottom + 16}" text-anchor="middle">{text}</text>'
        )
    return "".join(drawn)


def _edge(scale: Scale, at: float, bottom: float, says: str) -> str:
    x = scale.x(at)
    anchor, shift = ("end", -5) if x > (WIDTH - RIGHT + LEFT) / 2 else ("start", 5)
    height = TOP + PILE_HEIGHT + (14 if says == "faults end" else 26)
    return (
        f'<line class="edge" x1="{x}" x2="{x}" y1="{TOP}" y2="{bottom}"/>'
        f'<text class="soft" x="{x + shift}" y="{height}" text-anchor="{anchor}">{says}</text>'
    )


def _label(name: str, y: float, *, bold: bool = False) -> str:
    weight = ' style="font-weight:600"' if bold else ""
    return f'<text x="0" y="{y}"{weight}>{escape(name)}</text>'


def _place(name: str) -> tuple[int, str]:
    return (KINDS.index(name) if name in KINDS else len(KINDS), name)
