"""The live board: orders in progress, failing and recovering, on one screen of the terminal."""

import io
from collections.abc import Mapping, Sequence
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sasproject.demo.figures import NOTED
from sasproject.demo.scene import Scene
from sasproject.demo.wording import TonedText
from workers.states import ProcessState

STYLES = {
    "quiet": "dim",
    "busy": "cyan",
    "good": "green",
    "warning": "yellow",
    "bad": "bold red",
}
EVENT_ROWS = 5
#: Lines of the board other than orders and events.
OTHER_LINES = 13
FEWEST_ORDERS = 3
CUSTOMER_WIDTH = 15
#: Below this width the customer's column is left out.
WIDE = 100
#: Height of a terminal with room for everything.
TALL = 100


def order_rows(height: int) -> int:
    """Return the number of orders that fit on a terminal of this height."""
    return max(FEWEST_ORDERS, height - OTHER_LINES - EVENT_ROWS)


def render(
    scene: Scene, urls: Mapping[str, str], keys: str, *, width: int = WIDE, height: int = TALL
) -> RenderableType:
    """Return the board as a renderable.

    Drops older events if counters and processes need more than a line each: the line of keys stays
    visible at any size of the terminal.
    """
    above = [
        _header(urls),
        _counters(scene),
        _orders(scene, is_wide=width >= WIDE),
        _processes(scene),
    ]
    below = Text(keys, style="bold reverse")
    room = height - _lines(Group(*above, Text(""), below), width)
    return Group(*above, _events(scene.events[: max(0, room)]), below)


def _lines(picture: RenderableType, width: int) -> int:
    console = Console(width=width, file=io.StringIO())
    return len(console.render_lines(picture))


def _header(urls: Mapping[str, str]) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    for label, url in urls.items():
        grid.add_row(Text(label, style="bold"), Text(url))
    return grid


def _counters(scene: Scene) -> RenderableType:
    figures = scene.figures
    orders = [
        TonedText(f"orders: {figures.placed}", "busy"),
        TonedText(f"processed: {figures.of('processed')}", "good"),
        TonedText(f"open: {figures.open}", "busy"),
        TonedText(f"trying again: {figures.failing}", "warning" if figures.failing else "quiet"),
        *(
            TonedText(f"{state}: {number}", "bad" if state == ProcessState.ERROR else "warning")
            for state in NOTED
            if (number := figures.of(state))
        ),
    ]
    proof = [
        TonedText(f"kills: {figures.kills}", "warning" if figures.kills else "quiet"),
        TonedText(f"recovered: {figures.recovered}", "good"),
        TonedText(f"lost orders: {figures.lost}", "bad" if figures.lost else "good"),
        TonedText(
            f"duplicate effects: {figures.duplicates}", "bad" if figures.duplicates else "good"
        ),
    ]
    title = "PAYMENT IS DOWN" if scene.is_payment_down else None
    if scene.is_ending:
        title = "ending: waiting for the open orders"
    style = "yellow" if title else "dim"
    return Panel(Group(_joined(orders), _joined(proof)), title=title, border_style=style)


def _orders(scene: Scene, *, is_wide: bool) -> RenderableType:
    gap = 2 if is_wide else 1
    table = Table(
        box=None, expand=True, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold"
    )
    table.add_column("order", justify="right", no_wrap=True)
    if is_wide:
        table.add_column("customer", width=CUSTOMER_WIDTH, no_wrap=True)
    steps = list(dict.fromkeys(name for row in scene.rows for name in row.steps))
    for name in steps:
        table.add_column(name, no_wrap=True, min_width=5)
    table.add_column("what happens", ratio=1, no_wrap=True, overflow="ellipsis", min_width=12)
    for row in scene.rows:
        table.add_row(
            Text(str(row.number)),
            *([Text(row.customer)] if is_wide else []),
            *(_text(row.steps.get(name, TonedText(""))) for name in steps),
            _text(row.says),
        )
    return table


def _processes(scene: Scene) -> RenderableType:
    parts = []
    for role, pids in scene.roles.items():
        restarts = scene.restarts.get(role, 0)
        again = f" ({restarts}x again)" if restarts else ""
        if pids:
            parts.append(TonedText(f"{role} {pids[0]}{again}", "warning" if restarts else "quiet"))
        else:
            parts.append(TonedText(f"{role} DOWN{again}", "bad"))
    return Group(Text(""), _joined(parts))


def _events(events: Sequence[tuple[datetime, str]]) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True, min_width=len("12:00:00"))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    for at, text in events:
        grid.add_row(Text(f"{at.astimezone():%H:%M:%S}", style="dim"), Text(text))
    return Group(Text(""), grid)


def _joined(parts: Sequence[TonedText]) -> Text:
    return Text(" · ").join(_text(part) for part in parts)


def _text(toned: TonedText) -> Text:
    return Text(toned.text, style=STYLES[toned.tone])


class Screen:
    """The terminal while the board covers it."""

    def __init__(self, console: Console, urls: Mapping[str, str], keys: str) -> None:
        self._urls = urls
        self._keys = keys
        self._console = console
        self._live = Live(console=console, screen=True, auto_refresh=False)

    def __enter__(self) -> "Screen":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @property
    def order_rows(self) -> int:
        return order_rows(self._console.size.height)

    def show(self, scene: Scene) -> None:
        size = self._console.size
        picture = render(scene, self._urls, self._keys, width=size.width, height=size.height)
        self._live.update(picture, refresh=True)
