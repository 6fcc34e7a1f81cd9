"""The how-tos, followed to the letter in a fresh clone: every block, in order, as printed."""

from pathlib import Path

import pytest

from tests.pages import checkout, table
from tests.pages.conftest import Open
from tests.pages.reader import blocks_of

pytestmark = pytest.mark.slow
HOW_TOS = sorted((checkout.ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("path", HOW_TOS, ids=lambda path: path.stem)
def test_every_block_works_as_printed(path: Path, open_page: Open, project: Path) -> None:
    page = table.of(str(path.relative_to(checkout.ROOT)))
    open_page(page, project).follow(blocks_of(checkout.ROOT, page))
