"""Setting an agent's flow: window, rate, breaker by force."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from tests.admin.conftest import VERBS, every_row, order_with, staff
from tests.toyflow import agents as toy
from workers.definitions.per_key import PerKey
from workers.models import Flow, Journal, LimitedKey, Step
from workers.supervisor import beat_schedule

URL = "/admin/workers/flow/payment.charge/set/"


@pytest.fixture(autouse=True)
def flow(db) -> Flow:
    beat_schedule.ensure_flow()
    return Flow.objects.get(pk="payment.charge")


def form(flow: Flow, **changes: Any) -> dict[str, Any]:
    seen = f"{flow.window}:{flow.rate_per_second}:{flow.deferred_window}:{flow.forced}"
    filled = {"window": flow.window, "rate_per_second": "", "forced": "", "seen": seen}
    return {**filled, "reason": "They asked us to.", **changes}


def test_what_is_different_is_set_and_written_down(operator, flow):
    response = operator.post(
        URL,
        form(flow, window=7, rate_per_second="2.5", deferred_window="9", forced="open"),
        follow=True,
    )

    html = response.content.decode()
    assert (
        "deferred_window: nothing → 9; forced: nothing → open; rate_per_second: nothing → 2.5;"
        " window: 400 → 7" in html
    )
    assert "0 of 9" in html
    flow.refresh_from_db()
    assert flow.deferred_window == 9
    assert (flow.window, flow.rate_per_second, flow.forced) == (7, 2.5, "open")
    entry = Journal.objects.get()
    assert (entry.event, entry.actor, entry.process_id) == ("flow_set", "operator:operator", None)
    assert entry.detail["reason"] == "They asked us to."
    assert LogEntry.objects.get().object_id == "payment.charge"
    assert "forced open" in html

    page = operator.get(URL).content.decode()
    assert "What operators set" in page
    assert "They asked us to. · deferred_window: nothing → 9" in page
    operator.post(URL, form(flow, window=7))
    flow.refresh_from_db()
    assert (flow.rate_per_second, flow.forced) == (None, None)


def test_one_key_is_held_and_shown_with_what_was_set(operator):
    flow = Flow.objects.get(pk="toy.keyed")
    page = operator.get(f"/admin/workers/flow/{flow.pk}/change/").content.decode()
    assert "/admin/workers/flow/toy.keyed/key/" in page
    url = "/admin/workers/flow/toy.keyed/key/"
    filled = {"value": "7", "window": "0", "rate_per_second": "", "reason": "They asked us to."}
    html = operator.post(url, filled, follow=True).content.decode()
    assert "One key of toy.keyed: window: nothing → 0." in html
    assert LimitedKey.objects.get().window == 0
    page = operator.get(url).content.decode()
    assert "customer=7: window 0" in page
    assert "They asked us to. · customer=7 · window: nothing → 0" in page
    refused = operator.post(url, {**filled, "value": "seven"})
    assert refused.status_code == 409
    assert "attribute customer must be int" in refused.content.decode()


def test_key_that_is_personal_is_masked(operator, monkeypatch):
    monkeypatch.setattr(toy.Keyed, "per_key", PerKey("email"))
    url = "/admin/workers/flow/toy.keyed/key/"
    filled = {"value": "ada@example.org", "window": "0", "reason": "They asked us to."}
    operator.post(url, filled)
    page = operator.get(url).content.decode()
    assert "email=***: window 0" in page
    assert "ada@" not in page
    assert "ada@" not in str(Journal.objects.get().detail)


def test_agent_that_limits_no_key_has_none_to_set(operator):
    page = operator.get("/admin/workers/flow/payment.charge/change/").content.decode()
    assert "/key/" not in page
    assert (
        "limits no key" in operator.get("/admin/workers/flow/payment.charge/key/").content.decode()
    )


def test_sent_twice_it_lands_once(operator, flow):
    filled = form(flow, window=7)
    assert [operator.post(URL, filled).status_code for _ in range(2)] == [302, 409]
    assert Journal.objects.count() == 1


def test_of_two_who_set_it_the_second_is_told(operator, flow):
    first, second = form(flow, window=7), form(flow, window=9)
    operator.post(URL, first)
    before = every_row()

    response = operator.post(URL, second)

    html = response.content.decode()
    assert response.status_code == 409
    assert "was set by somebody else since the page was opened" in html
    assert 'name="window" value="7"' in html
    assert every_row() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"window": "-1"},
        {"window": "100001"},
        {"window": "x"},
        {"rate_per_second": "0"},
        {"rate_per_second": "-1"},
        {"rate_per_second": "nan"},
        {"deferred_window": "0"},
        {"forced": "ajar"},
        {"reason": " "},
    ],
)
def test_a_value_that_cannot_be_changes_nothing(operator, flow, changes):
    before = every_row()
    assert operator.post(URL, form(flow, **changes)).status_code == 400
    assert every_row() == before


def test_nothing_different_is_refused(operator, flow):
    before = every_row()
    response = operator.post(URL, form(flow))
    assert response.status_code == 409
    assert "No changes" in response.content.decode()
    assert every_row() == before


def test_what_a_service_that_is_away_answered_last_stands_beside_its_breaker(operator, flow):
    order_with(charge_payment="pending")
    message = "POST /charges: pay.example.org:8443 is not reached: <refused>"
    Step.objects.filter(name="charge_payment").update(
        agent=flow.agent,
        fault={"kind": "unavailable", "code": "unreachable", "message": message, "at": "2026"},
    )

    def shown() -> str:
        return operator.get("/admin/workers/flow/").content.decode()

    assert "pay.example.org" not in shown()
    at = timezone.now()
    Flow.objects.filter(pk=flow.pk).update(opened_at=at, open_until=at + timedelta(seconds=60))
    assert "pay.example.org:8443 is not reached: &lt;refused&gt;</span>" in shown()


def test_user_without_permission_gets_no_flow_button_and_no_form(flow):
    client = staff("others", *(name for name in VERBS if name != "operate_flow"))
    before = every_row()
    assert "/set/" not in client.get("/admin/workers/flow/").content.decode()
    assert client.get(URL).status_code == 403
    assert client.post(URL, form(flow, window=7)).status_code == 403
    assert every_row() == before


def test_methods_and_agents_that_are_not_there(operator):
    assert operator.put(URL).status_code == 405
    assert operator.get("/admin/workers/flow/no.such/set/").status_code == 404
    assert operator.get("/admin/workers/flow/payment.charge/change/").status_code == 200


def test_a_step_that_waits_for_an_answer_holds_no_room(operator):
    order_with(charge_payment="started")
    Step.objects.filter(name="charge_payment").update(deferral={"question": "?"})
    rows = operator.get("/admin/workers/flow/").context["cl"].result_list
    counts = {row.agent: row.counts for row in rows}
    assert counts["payment.charge"]["processing"] == 0
