"""What stands in error, grouped by cause, and from there to all of its processes."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from tests.admin import toys
from tests.admin.conftest import order_in_error, order_with, staff
from tests.toyflow import agents as toy
from workers.desk.admin.causes import causes
from workers.exceptions import Permanent
from workers.models import Step

CAUSES = "/admin/workers/process/causes/"


@pytest.fixture
def failed(wire) -> None:
    """Three processes that one fault stopped, and one that another did."""
    for number in range(3):
        toys.failed(wire, f"Toy {number}")
    toy.script["toy.gamma"] = toys.raises(Permanent("closed", "<b>closed</b>"))
    toys.begun(wire, "toy_answered", "Toy 3")


def test_causes_are_counted_the_most_first(failed):
    found = [(one.key.step, one.key.agent, one.key.code, one.count) for one in causes()]
    assert found == [("then", "toy.gamma", "gone", 3), ("then", "toy.gamma", "closed", 1)]
    assert causes()[0].message == "no such account"
    first, last = causes()[0].first, causes()[0].last
    assert first is not None
    assert last is not None
    assert first <= last
    assert len(causes(limit=1)) == 1


def test_the_page_leads_to_the_processes_of_a_cause(failed, operator):
    page = operator.get(CAUSES).content.decode()
    assert "3 processes" in page
    assert "Failed steps by cause, largest group first. Once a cause is fixed, open" in page
    assert "&lt;b&gt;closed&lt;/b&gt;" in page
    listed = operator.get(causes()[0].url).content.decode()
    assert [name in listed for name in ("Toy 0", "Toy 1", "Toy 2", "Toy 3")] == [True] * 3 + [False]


def test_what_is_mended_is_no_cause_any_more(wire, operator):
    toys.begun(wire, "toy_line")
    assert "Nothing stands in error" in operator.get(CAUSES).content.decode()


def test_the_index_leads_there_where_something_is_in_error(operator, viewer):
    link = f'<a href="{CAUSES}">by cause</a>'
    assert link not in operator.get("/admin/").content.decode()
    order_in_error()
    assert link in operator.get("/admin/").content.decode()
    assert viewer.get(CAUSES).status_code == 200


def test_who_may_not_see_processes_does_not_see_causes(failed):
    somebody = staff("somebody")
    get_user_model().objects.get(username="somebody").user_permissions.clear()
    assert somebody.get(CAUSES).status_code == 403


def in_error(*faults: dict[str, str], **columns: Any) -> list[int]:
    """Make a process in error for each fault; return their ids."""
    return [order_in_error(fault=fault, **columns).process_id for fault in faults]


def listed(operator: Client, url: str) -> set[int]:
    rows = operator.get(url).context["cl"].result_list
    return {row.pk for row in rows}


def fault(kind: str, message: str, code: str = "fault") -> dict[str, str]:
    return {"kind": kind, "code": code, "message": message}


def test_a_cause_is_of_one_kind_and_code_and_says_one_thing(operator):
    """The operator's own night: 153 permanent and 12 transient were one line of 165."""
    permanent = in_error(*[fault("permanent", "answered 400")] * 3)
    transient = in_error(*[fault("transient", "answered 500")] * 2)
    refused = in_error(fault("permanent", "answered 400", code="http"))
    said = in_error(fault("permanent", "no such account"), fault("permanent", "account closed"))
    bare = in_error({})

    found = causes()

    counted = [(one.count, one.key.kind, one.key.code, one.key.message) for one in found]
    assert counted[:2] == [
        (3, "permanent", "fault", "answered 400"),
        (2, "transient", "fault", "answered 500"),
    ]
    assert [one[0] for one in counted[2:]] == [1, 1, 1, 1]
    members = [listed(operator, one.url) for one in found]
    assert members[:2] == [set(permanent), set(transient)]
    assert {min(one) for one in members[2:]} == {*refused, *said, *bare}


def test_numbers_and_ids_tell_no_causes_apart(operator):
    ids = in_error(
        fault("permanent", "charge ch_9f2 of order #17 was declined"),
        fault("permanent", "charge ch_11a-b of order #2 was declined"),
    )
    (cause,) = causes()
    assert (cause.count, cause.key.message) == (2, "charge # of order # was declined")
    assert listed(operator, cause.url) == set(ids)


def test_one_way_in_which_workers_die_is_one_cause(operator):
    ids = in_error(
        *(
            fault("expired", f"its worker died in {which} attempts: signal 9", "worker_died")
            for which in ("each of 3", "the last 2")
        )
    )
    (cause,) = causes()
    assert cause.key.message == "its worker died: signal 9"
    assert listed(operator, cause.url) == set(ids)


def test_a_stuck_undo_counts_once_as_what_needs_somebody(operator):
    order = order_with(
        "error",
        charge_payment={"error": True, "fault": fault("permanent", "no such address")},
        book_shipment={"error": True, "fault": fault("permanent", "declined")},
    )
    undo = order.process.steps.get(name="book_shipment")
    undo.name, undo.undoes = "release_stock", order.process.steps.get(name="reserve_stock")
    undo.save()
    order.process.outcome = "compensated"
    order.process.save()

    (cause,) = causes()

    assert (cause.key.step, cause.key.message, cause.count) == ("release_stock", "declined", 1)
    assert listed(operator, cause.url) == {order.process_id}
    (row,) = operator.get("/admin/orders/order/").context["cl"].result_list
    assert (row.standing.current.name, row.standing.fault["message"]) == (
        "release_stock",
        "declined",
    )


def test_a_cause_that_nothing_has_lists_nothing(operator):
    in_error(fault("permanent", "declined"))
    url = causes()[0].url
    Step.objects.filter(state="error").update(state="waiting", fault=None)
    page = operator.get(url)
    assert list(page.context["cl"].result_list) == []
    assert "one that nothing has any more" in page.content.decode()


def test_a_poll_gets_the_table_alone(operator):
    in_error(fault("permanent", "declined"))
    answer = operator.get(CAUSES, headers={"HX-Request": "true"})
    assert answer.headers["X-Server-Now"]
    html = answer.content.decode()
    assert "1 process" in html
    assert "<html" not in html
