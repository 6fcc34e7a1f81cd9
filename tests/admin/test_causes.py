"""What stands in error, grouped by cause, and from there to all of its processes."""

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import order_in_error, staff
from tests.toyflow import agents as toy
from workers.admin.causes import causes
from workers.exceptions import Permanent
from workers.testing import Wire

pytestmark = pytest.mark.django_db
CAUSES = "/admin/workers/process/causes/"


@pytest.fixture
def failed(wire: Wire) -> None:
    """Three processes that one fault stopped, and one that another did."""
    for number in range(3):
        toys.failed(wire, f"Toy {number}")
    toy.script["toy.gamma"] = toys.raises(Permanent("closed", "<b>closed</b>"))
    toys.begun(wire, "toy_answered", "Toy 3")


def test_causes_are_counted_the_most_first(failed: None) -> None:
    found = [(cause.step, cause.agent, cause.code, cause.count) for cause in causes()]
    assert found == [("then", "toy.gamma", "gone", 3), ("then", "toy.gamma", "closed", 1)]
    assert causes()[0].message == "no such account"
    assert causes()[0].first <= causes()[0].last
    assert len(causes(limit=1)) == 1


def test_the_page_leads_to_the_processes_of_a_cause(failed: None, operator: Client) -> None:
    page = operator.get(CAUSES).content.decode()
    assert "3 processes" in page
    assert "&lt;b&gt;closed&lt;/b&gt;" in page
    listed = operator.get(causes()[0].url).content.decode()
    assert [name in listed for name in ("Toy 0", "Toy 1", "Toy 2", "Toy 3")] == [True] * 3 + [False]


def test_what_is_mended_is_no_cause_any_more(wire: Wire, operator: Client) -> None:
    toys.begun(wire, "toy_line")
    assert "Nothing stands in error" in operator.get(CAUSES).content.decode()


def test_the_index_leads_there_where_something_is_in_error(
    operator: Client, viewer: Client
) -> None:
    assert CAUSES not in operator.get("/admin/").content.decode()
    order_in_error()
    assert CAUSES in operator.get("/admin/").content.decode()
    assert viewer.get(CAUSES).status_code == 200


def test_who_may_not_see_processes_does_not_see_causes(failed: None) -> None:
    somebody = staff("somebody")
    get_user_model().objects.get(username="somebody").user_permissions.clear()
    assert somebody.get(CAUSES).status_code == 403
