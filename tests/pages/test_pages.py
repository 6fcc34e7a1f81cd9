"""No block is passed over in silence, and nothing is kept here that no page needs any more."""

from pathlib import Path

import pytest

from tests.pages import blocks, checkout, table
from tests.pages.reader import Page, blocks_of
from tests.pages.test_how_to import HOW_TOS

PAGES = [table.readme(""), table.ASK_A_PERSON, *HOW_TOS]
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
#: What a reader knows how to run.
RUN = {*blocks.SHELL, "python", "json"}


@pages
def test_what_is_not_run_is_counted_and_has_a_reason(page):
    found = blocks_of(checkout.ROOT, page)
    excused = [f"{block}: {block.excuse}" for block in found if block.excuse]
    assert len(excused) == page.not_run, excused
    text = (checkout.ROOT / page.path).read_text(encoding="utf-8")
    assert text.count("<!-- not run") == page.not_run, "a marker stands right above its block"


@pages
def test_every_other_block_is_run(page):
    for block in blocks_of(checkout.ROOT, page):
        is_run = block.path or block.language in RUN
        assert is_run or block.excuse or page.is_run_elsewhere(block), (
            f"{block}: nobody runs a block of {block.language or 'no language'}"
        )


@pages
def test_what_is_run_elsewhere_is(page):
    for key, test in page.elsewhere.items():
        found = blocks_of(checkout.ROOT, page)
        assert any(Page(page.path, elsewhere={key: test}).is_run_elsewhere(one) for one in found)
        assert Path(page.path).stem in (checkout.ROOT / test).read_text(encoding="utf-8")


@pages
def test_nothing_is_kept_that_the_page_does_not_have(page):
    text = "".join(block.text for block in blocks_of(checkout.ROOT, page))
    for printed in (*page.before, *page.after, *page.replace):
        assert printed in text, f"{page.path} no longer has {printed}"


def test_every_known_page_is_there():
    assert {page.path for page in table.PAGES} <= {page.path for page in HOW_TOS}


def test_only_blocks_of_that_language_are_run_elsewhere():
    def is_elsewhere(language: str, text: str) -> bool:
        return page.is_run_elsewhere(blocks.Block("page.md", 1, 0, language, text))

    page = Page("page.md", elsewhere={"python": "one", "sh: rabbitmqctl": "another"})
    assert is_elsewhere("python", "import os\n")
    assert is_elsewhere("sh", "rabbitmqctl add_user acme\n")
    assert not is_elsewhere("sh", "python manage.py check\n")


PAGE = """# A page
text
```sh
one \\
  two  # it's a comment
# only a comment

three 'a
b'
```
## Section
<!-- not run: because -->

```text
output
```
```python
# trips/agents.py
x = 1
```
"""


def test_blocks_are_found_with_their_section_marker_and_file():
    first, second, third = blocks.of(Path("page.md"), PAGE)
    assert (first.language, first.section, first.line, first.excuse) == ("sh", 0, 3, "")
    assert (second.language, second.section, second.excuse) == ("text", 1, "because")
    assert (third.path, third.excuse) == ("trips/agents.py", "")
    assert blocks.commands(first.text) == ["one \\\n  two  # it's a comment", "three 'a\nb'"]


@pytest.mark.parametrize("text", ["```sh\nls\n", "```sh\nls\n```\n```\n"])
def test_a_block_that_does_not_end_is_refused(text):
    with pytest.raises(AssertionError, match="not closed"):
        blocks.of(Path("page.md"), text)
