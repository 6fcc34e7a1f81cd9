"""The how-tos, followed to the letter in a fresh clone: every block, in order, as printed."""

from pathlib import Path

import pytest

from tests.pages import checkout, table
from tests.pages.reader import blocks_of

pytestmark = pytest.mark.slow
HOW_TOS = [
    table.of(str(path.relative_to(checkout.ROOT)))
    for path in sorted((checkout.ROOT / "docs" / "how-to").glob("*.md"))
]
#: Those of which a block is run here; of the others all are run elsewhere, as the table says.
FOLLOWED = [
    page for page in HOW_TOS if any(page.is_run_here(one) for one in blocks_of(checkout.ROOT, page))
]


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: Path(page.path).stem)
def test_every_block_works_as_printed(page, open_page, project):
    open_page(page, project).follow(blocks_of(checkout.ROOT, page))
