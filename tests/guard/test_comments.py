"""A comment begins with its subject or its verb."""

import re

import pytest

from tests.guard.test_architecture import name_of, sources

FRONTED = re.compile(r"^\s*#:? Of ")


def test_no_comment_begins_with_what_it_is_about():
    found = [
        f"{name_of(path)}:{number}"
        for path in sources()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FRONTED.match(line)
    ]

    assert found == []


@pytest.mark.parametrize("line", ["# Of two, one acts.", "    #: Of a step: its name."])
def test_such_a_comment_is_found(line):
    assert FRONTED.match(line)
