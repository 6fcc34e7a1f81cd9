"""What a saved view keeps of a list's address."""

import pytest

from workers.desk.rules import saved_views
from workers.desk.rules.saved_views import LONGEST_QUERY, ViewError


def test_filters_and_the_order_are_kept_and_what_passes_is_not():
    pairs = [("state", "error"), ("p", "3"), ("e", "1"), ("_facets", "True"), ("o", "-2")]
    assert saved_views.to_query([*pairs, ("with_agent", "payment.*")]) == (
        "state=error&o=-2&with_agent=payment.%2A"
    )


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([], "Narrow the list first"),
        ([("p", "2"), ("o", "1")], "Narrow the list first"),
        ([("state", "error"), ("q", "Ada")], "not a search"),
        ([("fault", "x" * LONGEST_QUERY)], f"at most, got {LONGEST_QUERY + len('fault=')}"),
    ],
)
def test_what_no_view_is_made_of_is_refused(pairs, why):
    with pytest.raises(ViewError, match=why):
        saved_views.to_query(pairs)


def test_a_query_of_the_greatest_length_is_kept():
    value = "x" * (LONGEST_QUERY - len("fault="))
    assert len(saved_views.to_query([("fault", value)])) == LONGEST_QUERY


def test_parameters_that_a_list_does_not_know_are_named():
    query = "gone=1&state=error&o=2&source__exact=web&old="
    assert saved_views.unknown(query, {"state"}, {"source"}) == ["gone", "old"]
    assert saved_views.unknown(query, {"state", "gone", "old"}, {"source"}) == []
    assert saved_views.unknown("state__gte=1", {"state"}, ()) == ["state__gte"]


def test_queries_are_the_same_in_any_order():
    assert saved_views.is_same("a=1&b=2", "b=2&a=1")
    assert not saved_views.is_same("a=1&b=2", "a=1")


def test_a_name_holds_no_mail_address():
    saved_views.refuse_personal("Errors @ payment")
    with pytest.raises(ViewError, match="no mail address"):
        saved_views.refuse_personal("Orders of ada@example.org")
