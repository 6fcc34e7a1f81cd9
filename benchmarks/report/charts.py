"""Horizontal bars as SVG; colours are the page's, so that light and dark both read."""

from collections.abc import Sequence
from html import escape

WIDTH, LABEL, FIGURE, ROW, BAR = 760, 280, 90, 30, 18


def bars(title: str, rows: Sequence[tuple[str, float | None]], unit: str) -> str:
    """Return one bar for each row, longest for the largest; a dash for those without a figure."""
    most = max([value for _, value in rows if value is not None] or [1]) or 1
    room = WIDTH - LABEL - FIGURE
    drawn = []
    for place, (name, value) in enumerate(rows):
        top = place * ROW
        length = 0.0 if value is None else round(room * value / most, 1)
        said = "-" if value is None else f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
        kind = "ours" if place == 0 else "peer"
        drawn.append(
            f'<text class="name" x="{LABEL - 10}" y="{top + 14}">{escape(name)}</text>'
            f'<rect class="{kind}" x="{LABEL}" y="{top}" width="{length}" height="{BAR}" rx="2"/>'
            f'<text class="figure" x="{LABEL + length + 6}" y="{top + 14}">{said}</text>'
        )
    height = len(rows) * ROW
    spoken = escape(f"{title}, in {unit}", quote=True)
    return (
        f'<svg role="img" aria-label="{spoken}" viewBox="0 0 {WIDTH} {height}"'
        f' xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )
