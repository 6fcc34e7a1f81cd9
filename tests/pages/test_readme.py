"""README, followed to the letter in an empty folder: every block, in order, as printed."""

import pytest

from tests.pages import checkout
from tests.pages.reader import blocks_of
from tests.pages.table import readme

pytestmark = [pytest.mark.slow, pytest.mark.smoke]


def test_every_block_of_readme_works_as_printed(open_page, origin, tmp_path):
    page = readme(f"git clone -q {origin} shop && cd shop && {checkout.READY}")
    (tmp_path / "empty").mkdir()
    open_page(page, tmp_path / "empty").follow(blocks_of(checkout.ROOT, page))
