"""The corpus in the admin's addresses: every list is asked by what it offers to filter by."""

import pytest
from django.test import Client

from tests.admin.conftest import order_in_error
from tests.hostile import envelopes
from tests.hostile.test_through_the_admin import LISTS, assert_inert, root

__all__ = ["root"]

pytestmark = pytest.mark.fault("F31")

#: Asked of every list, beside what it filters by itself.
DJANGOS = ("q", "p", "o", "all", "e", "_facets", "_popup", "_changelist_filters", "nobody's")
#: Of what is asked, that which databases, dates and numbers make something of.
ASKED = (
    *("a word and NUL", "markup", "a format", "2^63", "5,000 digits", "a superscript"),
    *("the first instant", "the last instant", "a lot of words", "a long word", "nothing"),
)


def filters_of(client: Client, url: str) -> set[str]:
    """Return the parameters that a list filters by."""
    changelist = client.get(url).context["cl"]
    return {one for spec in changelist.filter_specs for one in spec.expected_parameters()}


@pytest.mark.volume
@pytest.mark.parametrize("label", LISTS)
def test_whatever_is_asked_of_a_list(root, acme, quiet, label):
    order_in_error()
    url = LISTS[label]
    broken = []
    for parameter in sorted({*DJANGOS, *filters_of(root, url)}):
        for name in ASKED:
            answer = root.get(url, {parameter: envelopes.IN_A_QUERY[name]}, follow=True)
            if answer.status_code != 200:
                broken.append((parameter, name, answer.status_code))
            assert_inert(answer.content.decode(), envelopes.IN_A_QUERY[name])
    assert broken == []
    quiet()


@pytest.mark.parametrize("label", LISTS)
def test_a_row_that_is_not_there(root, acme, label):
    for key in ("%00", "x", "-1", "9" * 40, "1" * 4000, "\u0663"):
        for rest in ("change/", "history/"):
            answer = root.get(f"{LISTS[label]}{key}/{rest}", follow=True)
            assert answer.status_code in (200, 403, 404), (key[:9], rest)


@pytest.mark.parametrize("code", ["1e999", "Infinity", "12", "null", "true", "[1]", '"'])
def test_a_fault_whose_code_looks_like_something_else(root, code):
    order_in_error(fault={"kind": "permanent", "code": code, "message": "no"})
    for label in ("orders.order", "workers.process"):
        answer = root.get(LISTS[label], {"fault": code})
        assert answer.status_code == 200
        assert answer.context["cl"].result_count == 1
