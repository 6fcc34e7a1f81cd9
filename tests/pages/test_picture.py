"""README's picture is there and light, and the script that draws it reads the board."""

import io

from rich.console import Console

from sasproject.demo.board import Screen
from tests import picture
from tests.demo.test_board import URLS, scene

MOST_BYTES = 200_000


def test_readme_shows_the_picture_and_it_is_light():
    readme = (picture.ROOT / "README.md").read_text(encoding="utf-8")

    assert f"]({picture.PICTURE.relative_to(picture.ROOT)})" in readme
    assert picture.PICTURE.stat().st_size < MOST_BYTES


def test_the_last_whole_board_is_drawn():
    out = io.StringIO()
    console = Console(file=out, width=picture.COLUMNS, height=picture.LINES, force_terminal=True)
    with Screen(console, URLS, " k kill  q end ") as screen:
        screen.show(scene())
        screen.show(scene(rows=[]))
    said = out.getvalue().replace("\n", "\r\n").encode()
    cut = said[: said.rindex(picture.FRAME) + 20]

    html = picture.as_html(picture.last_board(cut))
    assert "Ada Lovelace" in html
    assert "FAILED → RETRY payment in 3 s" in html
    assert picture.last_board(b"nothing yet") == ""
