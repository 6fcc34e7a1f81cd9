"""Draws the picture in README: the board of a real demo, with workers killed on the way.

`.venv/bin/python -m tests.picture` runs the demo in a terminal of its own for about a minute,
presses its keys, and keeps the board of a moment that shows what the demo is for.
"""

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from select import select

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

from tests.browsing import launched
from tests.programs import ROOT

PICTURE = ROOT / "docs" / "pictures" / "board.png"
COLUMNS, LINES = 104, 30
#: Key -> the second after the first order at which it is pressed.
PRESSED = {6.0: "k", 12.0: "p", 17.0: "p", 20.0: "k"}
#: What the board must show by then: trouble, and orders that ended in spite of it.
SHOWN = ("→ RECOVERED", "retry", "EXPIRED", "kills: 2", "lost orders: 0", "duplicate effects: 0")
SECONDS = 180
#: Every picture of the board begins at the top left corner of the screen.
FRAME = b"\x1b[H"
PAGE = """<pre id="board" style="display: inline-block; margin: 0; padding: 16px;
background: {background}; color: {foreground}; font: 14px/1.25 'DejaVu Sans Mono', monospace">
{code}</pre>"""


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    with launched() as browser:
        page = browser.new_page(device_scale_factor=1.2)
        page.set_content(as_html(a_board()))
        page.locator("#board").screenshot(path=PICTURE)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size / 1000:.0f} kB")


def a_board() -> str:
    """Run the demo until its board shows everything; return that board, in ANSI."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with tempfile.TemporaryDirectory() as folder:
        demo = subprocess.Popen(
            [sys.executable, "manage.py", "demo"],
            cwd=ROOT,
            env={**os.environ, "SAS_RUN_DIR": folder, "TERM": "xterm-256color"},
            stdin=its,
            stdout=its,
            stderr=subprocess.DEVNULL,
        )
        try:
            return _watch(ours)
        finally:
            os.write(ours, b"q")
            _drain(ours, demo)
            assert demo.returncode == 0, "the demo lost an order, or could not go on"


def _watch(terminal: int) -> str:
    end = time.monotonic() + SECONDS
    first = 0.0
    due = dict(PRESSED)
    said = b""
    while time.monotonic() < end:
        said += _read(terminal)
        board = last_board(said)
        if not first and "done" in board:
            first = time.monotonic()
        for second in [second for second in due if first and time.monotonic() - first >= second]:
            os.write(terminal, due.pop(second).encode())
        plain = Text.from_ansi(board).plain
        if not due and all(words in plain for words in SHOWN):
            return board
    raise AssertionError(f"the board never showed all of {SHOWN}")


def last_board(said: bytes) -> str:
    """Return the last whole picture of the board in what a terminal was sent."""
    frames = said.split(FRAME)
    return frames[-2].decode().replace("\r\n", "\n") if len(frames) > 2 else ""


def as_html(board: str) -> str:
    console = Console(width=COLUMNS, record=True, file=io.StringIO())
    console.print(Text.from_ansi(board), end="")
    return console.export_html(theme=DIMMED_MONOKAI, inline_styles=True, code_format=PAGE)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16) if select([terminal], [], [], 0.2)[0] else b""
    except OSError:  # the demo has ended
        return b""


def _drain(terminal: int, demo: subprocess.Popen[bytes]) -> None:
    """Read on until the demo has ended: it would wait for room in the terminal."""
    end = time.monotonic() + SECONDS
    while demo.poll() is None and time.monotonic() < end:
        _read(terminal)


if __name__ == "__main__":
    main()
