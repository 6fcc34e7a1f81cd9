"""The page of the public API says what the code says."""

import inspect

import pytest

import workers
from tests.guard import api_page


def test_the_page_is_what_the_code_says():
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.text(), (
        "Run `python -m tests.guard.api_page`."
    )


@pytest.mark.parametrize("name", workers.__all__)
def test_every_public_name_says_what_it_is(name):
    of = getattr(workers, name)
    said = api_page.ALIASES[name][1] if name in api_page.ALIASES else inspect.getdoc(of) or ""

    assert said, f"workers.{name} has no docstring"
    assert not said.startswith(f"{name}("), f"workers.{name} has no docstring"
