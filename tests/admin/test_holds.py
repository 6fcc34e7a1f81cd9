"""Holding and lifting, and the banner that tells of it."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from tests.admin.conftest import VERBS, every_row, order_with, staff
from workers.models import Hold, Journal
from workers.store.flow import holds
from workers.supervisor import beat_schedule

LIST = "/admin/workers/hold/"
HOLD = f"{LIST}hold/"
BANNER = "Held: nothing new of this starts."


@pytest.fixture(autouse=True)
def flow(db) -> None:
    beat_schedule.ensure_flow()


def lift_url() -> str:
    return f"{LIST}{Hold.objects.latest('pk').pk}/lift/"


@pytest.mark.parametrize(
    ("what", "held", "told"),
    [
        ("everything", ("everything", ""), "everything"),
        ("agent:payment.charge", ("agent", "payment.charge"), "agent payment.charge"),
        ("step:charge_payment", ("step", "charge_payment"), "steps called charge_payment"),
    ],
)
def test_it_is_held_and_lifted_again(operator, what, held, told):
    response = operator.post(HOLD, {"what": what, "reason": "Maintenance"}, follow=True)
    assert f"Held: {told}." in response.content.decode()
    assert holds.current() == {held}

    response = operator.post(lift_url(), {"reason": "Over"}, follow=True)
    assert f"Lifted: {told}." in response.content.decode()
    assert holds.current() == frozenset()

    entries = list(Journal.objects.order_by("id").values_list("event", "actor", "process_id"))
    assert entries == [("held", "operator:operator", None), ("lifted", "operator:operator", None)]
    assert LogEntry.objects.count() == 2


def test_sent_twice_each_lands_once(operator):
    form = {"what": "everything", "reason": "Maintenance"}
    assert [operator.post(HOLD, form).status_code for _ in range(2)] == [302, 409]
    url = lift_url()
    assert [operator.post(url, {"reason": "Over"}).status_code for _ in range(2)] == [302, 409]
    assert Journal.objects.count() == 2
    assert "was lifted already, by operator:operator" in operator.get(url).content.decode()


def test_what_cannot_be_held_and_a_missing_reason_change_nothing(operator):
    before = every_row()
    for form in ({"what": "agent:no.such"}, {"what": ""}, {"what": "everything", "reason": " "}):
        assert operator.post(HOLD, {"reason": "r", **form}).status_code == 400
    assert every_row() == before


def test_user_without_permission_sees_hold_but_cannot_change_holds(viewer):
    holds.hold("everything", actor="operator:ann", reason="Maintenance")
    client = staff("others", *(name for name in VERBS if name != "operate_hold"))
    before = every_row()
    for one in (client, viewer):
        html = one.get(LIST).content.decode()
        assert "Maintenance" in html
        assert "/lift/" not in html
        assert HOLD not in html
        for url in (HOLD, lift_url()):
            assert one.get(url).status_code == 403
            assert one.post(url, {"what": "everything", "reason": "r"}).status_code == 403
    assert every_row() == before


def test_methods_and_holds_that_are_not_there(operator):
    assert operator.put(HOLD).status_code == 405
    assert operator.get(f"{LIST}987654/lift/").status_code == 404
    assert HOLD in operator.get(LIST).content.decode()


@pytest.mark.parametrize(
    "url", ["", "orders/order/", "workers/process/", "workers/flow/", "workers/process/waiting/"]
)
def test_a_banner_tells_while_something_is_held(operator, url):
    assert BANNER not in operator.get(f"/admin/{url}").content.decode()
    holds.hold("agent", "payment.charge", actor="operator:ann", reason="<b>Maintenance</b>")
    html = operator.get(f"/admin/{url}").content.decode()
    assert BANNER in html
    assert "agent payment.charge" in html
    assert "&lt;b&gt;Maintenance&lt;/b&gt;" in html
    holds.lift("agent", "payment.charge", actor="operator:ann", reason="")
    assert BANNER not in operator.get(f"/admin/{url}").content.decode()


def test_a_pending_step_says_that_it_is_held(operator):
    order = order_with(charge_payment="pending")
    holds.hold("step", "charge_payment", actor="operator:ann", reason="")
    for url in (
        f"orders/order/{order.number}/change/",
        f"workers/process/{order.process_id}/live/",
    ):
        html: Any = operator.get(f"/admin/{url}").content.decode()
        assert "waits until operators lift the hold on steps called charge_payment" in html


def test_rows_of_no_process_break_no_page(operator):
    order = order_with(charge_payment="started")
    holds.hold("everything", actor="operator:ann", reason="")
    for url in (
        "",
        "orders/order/",
        f"orders/order/{order.number}/change/",
        "workers/process/",
        f"workers/process/{order.process_id}/change/",
        "workers/alert/",
        "workers/flow/payment.charge/set/",
    ):
        assert operator.get(f"/admin/{url}").status_code == 200, url
