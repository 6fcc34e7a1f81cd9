"""Every snippet of the how-to on crashes is run, as the page has it."""

from collections.abc import Iterator

import pytest

from tests.testing_kit.conftest import known_too, run_page

pytestmark = pytest.mark.volume


@pytest.fixture(scope="module", autouse=True)
def concert() -> Iterator[None]:
    """Make the page's workflow and its agents known, to this module only."""
    with known_too(_of_the_page):
        yield


# From here on pytest finds the page's tests in this module.
_of_the_page = run_page("test-crashes.md", globals())
