"""The board, drawn without a terminal."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from sasproject.demo import board, interactive, wording
from sasproject.demo.figures import Figures
from sasproject.demo.scene import Row, Scene
from sasproject.demo.wording import TonedText
from workers.states import ProcessState

URLS = {
    "Shop": "http://127.0.0.1:8000/",
    "Admin": "http://127.0.0.1:8000/admin/   operator",
    "Services": "http://127.0.0.1:8900/",
}
FIGURES = Figures(
    placed=9, states={"processed": 6, "processing": 2, "error": 1}, recovered=3, kills=2
)


def scene(**changes: Any) -> Scene:
    row = Row(
        7,
        "Ada Lovelace",
        {"stock": TonedText("done", "good"), "payment": TonedText("retry", "warning")},
        TonedText("FAILED → RETRY payment in 3 s", "warning"),
    )
    return Scene(
        **{
            "figures": FIGURES,
            "rows": [row],
            "events": [(datetime(2026, 3, 1, tzinfo=UTC), "Order 7: payment failed")],
            "roles": {"agents": [101, 102], "broker": []},
            "restarts": {"agents": 2},
            **changes,
        }
    )


def drawn(
    scene: Scene, width: int = 120, height: int = 36, keys: str = " k kill  q end ", **options: Any
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, **options)
    console.print(board.render(scene, URLS, keys, width=width, height=height))
    return out.getvalue()


def test_everything_is_said_in_words():
    text = drawn(scene())
    for words in (
        "http://127.0.0.1:8000/admin/   operator",
        "orders: 9 · processed: 6 · open: 2",
        "error: 1",
        "kills: 2 · recovered: 3 · lost orders: 0 · duplicate effects: 0",
        "Ada Lovelace",
        "FAILED → RETRY payment in 3 s",
        "agents 101 (2x again) · broker DOWN",
        "Order 7: payment failed",
        "k kill  q end",
    ):
        assert words in text
    assert "\x1b" not in text


def test_a_narrow_terminal_keeps_what_happens():
    text = drawn(scene(), width=80)
    assert "Ada" not in text
    assert "FAILED → RETRY payment in 3 s" in text
    assert max(map(len, text.splitlines())) <= 80


def test_at_80_by_24_the_whole_story_is_told():
    """The widest words of everything at once: no column goes, and no key falls off the end."""
    cells = {name: TonedText("undone") for name in list(wording.STEPS.values())[:6]}
    says = TonedText("FAILED → RECOVERED, COMPENSATED", "good")
    rows = [Row(1234, "Ada Lovelace", cells, says)] * board.order_rows(24)
    states = dict.fromkeys(ProcessState, 888)
    event = (datetime(2026, 3, 1, tzinfo=UTC), "Order 1234: payment failed")
    crowd = scene(
        rows=rows,
        figures=replace(FIGURES, placed=8888, states=states, failing=88, recovered=888),
        events=[event] * board.EVENT_ROWS,
        roles={role: [123456] for role in ("broker", "sandbox", "web", "scheduler", "agents")},
        restarts={"scheduler": 22, "agents": 22, "broker": 22},
    )
    lines = drawn(crowd, width=80, height=24, keys=interactive.HELP).splitlines()
    text = "\n".join(lines)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for words in ("stock", "payment", "parcel", "what happens", says.text, "q end"):
        assert words in text
    assert text.count("undone") == 6 * len(rows)
    assert "Order 1234: payment failed" in text


def test_no_color_is_honoured(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[33m" in drawn(scene(), force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in drawn(scene(), force_terminal=True)


def test_the_title_says_what_is_special():
    assert "PAYMENT IS DOWN" in drawn(scene(is_payment_down=True))
    assert "waiting for the open orders" in drawn(scene(is_ending=True))


def test_it_is_drawn_before_there_is_anything():
    text = drawn(scene(figures=Figures(), rows=[], events=[], roles={}))
    assert "orders: 0 · processed: 0" in text


@pytest.mark.parametrize("height", [10, 24, 36, 60])
def test_it_fits_the_terminal(height):
    rows = board.order_rows(height)
    row = scene().rows[0]
    events = [(datetime(2026, 3, 1, tzinfo=UTC), "x")] * board.EVENT_ROWS
    lines = drawn(scene(rows=[row] * rows, events=events), height=height).count("\n")
    assert rows >= board.FEWEST_ORDERS
    assert lines <= max(height, 24)
