"""The desk of incidents: one line per cause, a page for each, and what may be done about it."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import django.contrib.admin
import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

import workers
from orders.models import Order
from tests.admin.conftest import every_row, order_in_error, staff
from tests.factories import AlertFactory, OrderFactory, ProcessFactory, StepFactory
from tests.toyflow import agents as toy
from workers import desk, supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.desk.models import BulkJob, Incident, Note
from workers.desk.store import incidents
from workers.exceptions import Permanent
from workers.models import Alert, Journal, Step
from workers.supervisor import beat_schedule

LIST = "/admin/desk/incident/"
DESK = f"{LIST}desk/"
PERMISSIONS = ("acknowledge", "assign", "snooze", "resolve", "note")
ACTS: dict[str, dict[str, Any]] = {
    "take": {"comment": "on it"},
    "assign": {"comment": "your shift"},
    "snooze": {"minutes": 60},
    "resolve": {"comment": "known"},
    "note": {"text": "They know."},
}
TITLE = "charge_payment of fulfilment fails for good: POST /charge: answered 400"


def fail(number: int, **fault: str) -> Alert:
    """Return the alert of an order whose payment failed."""
    order: Order = OrderFactory(
        process=ProcessFactory(state="error", subject=f"Order {number}"), total=Decimal("20.00")
    )
    known = {"kind": "permanent", "code": "http_400", "message": "POST /charge: answered 400"}
    step: Step = StepFactory(
        process=order.process, name="charge_payment", error=True, fault=known | fault
    )
    now = timezone.now()
    return AlertFactory(
        cause=f"process_error:process:{order.process_id}:charge_payment",
        message=f"Order {number}: step charge_payment failed for good",
        process=order.process,
        step=step,
        raised_at=now,
    )


@pytest.fixture(autouse=True)
def flow(db) -> None:
    beat_schedule.ensure_flow()


@pytest.fixture
def incident() -> Incident:
    for number in range(3):
        fail(number)
    incidents.collect()
    return Incident.objects.get()


@pytest.fixture
def owner() -> Client:
    return staff("ann", *(f"{name}_incident" for name in PERMISSIONS))


def page(incident: Incident) -> str:
    return f"{LIST}{incident.pk}/change/"


def text(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("where", ["/admin/", LIST, "/admin/workers/", DESK])
def test_150_orders_of_one_cause_are_one_line(viewer, where):
    for number in range(150):
        fail(number)
    incidents.collect()
    html = text(viewer, where)
    assert html.count(TITLE) >= 1
    assert html.count(f'href="{page(Incident.objects.get())}') == 1
    assert "150" in html
    assert "worth" in html
    assert "3,000.00" in html
    assert "nothing until you act" in html


def test_the_page_says_what_broke_and_what_to_do(owner, incident):
    html = text(owner, page(incident))
    assert f"{TITLE} (permanent, http_400)" in html
    assert "Fix the cause, then resubmit, or complete, skip or undo." in html
    assert "Next: nothing until you act." in html
    assert "POST /charge: answered 400" in html
    assert html.count('class="sas-s-came"') == 1
    for number in range(3):
        assert f"Order {number}" in html


def test_more_since_it_was_opened_are_announced_and_not_inserted(viewer, incident):
    seen = Alert.objects.latest("pk").pk
    live = f"{LIST}{incident.pk}/live/?seen={seen}"
    assert f'hx-get="{live}"' in text(viewer, page(incident))
    assert "more since you opened" not in text(viewer, live)
    fail(7)
    fail(8)
    incidents.collect()
    html = text(viewer, live)
    assert "2 more since you opened" in html
    assert f'hx-get="{live}"' not in html
    assert "Order 8" not in html


def test_each_act_lands_once_and_is_journalled(owner, incident):
    ann = get_user_model().objects.get(username="ann")
    url = f"{LIST}{incident.pk}/"
    response = owner.post(f"{url}take/", ACTS["take"], follow=True)
    assert "Taken: it is yours." in response.content.decode()
    assert "Take#" not in response.content.decode()
    incident.refresh_from_db()
    assert (incident.state, incident.assignee) == ("acknowledged", ann)
    assert not Alert.objects.filter(acknowledged_at=None).exists()
    again = owner.post(f"{url}take/", ACTS["take"], follow=True)
    assert "Somebody was quicker; nothing was changed." in again.content.decode()

    owner.post(f"{url}note/", ACTS["note"])
    assert "They know." in text(owner, page(incident))
    owner.post(f"{url}assign/", {"assignee": "", "comment": ""})
    owner.post(f"{url}snooze/", ACTS["snooze"])
    incident.refresh_from_db()
    assert (incident.state, incident.assignee) == ("snoozed", None)
    assert incident.snooze_until is not None
    owner.post(f"{url}resolve/", ACTS["resolve"])
    incident.refresh_from_db()
    assert incident.state == "resolved"
    assert list(Journal.objects.order_by("pk").values_list("event", "actor")) == [
        (f"incident_{what}", "operator:ann")
        for what in ("taken", "noted", "assigned", "snoozed", "resolved")
    ]


def test_it_is_put_off_until_an_instant(owner, incident):
    url = f"{LIST}{incident.pk}/snooze/"
    until = timezone.localtime(timezone.now() + timedelta(hours=3)).replace(second=0, microsecond=0)
    form = {"minutes": 15, "until": until.strftime("%Y-%m-%dT%H:%M")}
    assert owner.post(url, form).status_code == 302
    incident.refresh_from_db()
    assert incident.snooze_until == until
    before = every_row()
    refused = owner.post(url, {"minutes": 15, "until": "2001-01-01T10:00"})
    assert refused.status_code == 409
    assert "must be within 30 days from now" in refused.content.decode()
    assert every_row() == before


@pytest.mark.parametrize("act", ACTS)
def test_each_act_needs_its_own_permission(incident, act):
    needed = "acknowledge" if act == "take" else act
    others = staff("bob", *(f"{name}_incident" for name in PERMISSIONS if name != needed))
    before = every_row()
    url = f"{LIST}{incident.pk}/{act}/"
    assert others.get(url).status_code == 403
    assert others.post(url, ACTS[act]).status_code == 403
    assert url not in text(others, page(incident))
    assert every_row() == before


@pytest.mark.parametrize("act", ACTS)
def test_each_act_has_a_page(owner, incident, act):
    html = text(owner, f"{LIST}{incident.pk}/{act}/")
    assert TITLE in html
    assert owner.get(f"{LIST}{incident.pk + 1}/{act}/").status_code == 404
    assert owner.put(f"{LIST}{incident.pk}/{act}/").status_code == 405


def test_what_is_resolved_takes_notes_only(owner, incident):
    Alert.objects.update(resolved_at=timezone.now())
    incidents.refresh()
    html = text(owner, page(incident))
    for act in ACTS:
        assert (f"/{act}/" in html) == (act == "note")
    assert "Order 1" in html
    assert "<dt>Members</dt><dd>0 of 3" in html
    assert "Next:" not in html


def test_a_note_that_says_nothing_is_refused(owner, incident):
    assert owner.post(f"{LIST}{incident.pk}/note/", {"text": " "}).status_code == 400
    assert not Note.objects.exists()


def test_without_the_permission_to_view_nothing_is_shown(incident):
    client = Client()
    client.force_login(get_user_model().objects.create(username="eve", is_staff=True))
    for url in (LIST, page(incident), DESK, f"{LIST}{incident.pk}/live/"):
        assert client.get(url).status_code == 403
    assert TITLE not in client.get("/admin/").content.decode()


def test_lists_are_narrowed_to_the_members(operator, incident):
    order_in_error()
    for path in ("/admin/orders/order/", "/admin/workers/process/"):
        url = f"{path}?incident={incident.pk}"
        assert url in text(operator, page(incident))
        html = text(operator, url)
        assert html.count('class="action-select"') == 3
        assert TITLE in html
        for nothing in ("987654", "x", "9" * 30):
            assert "action-select" not in text(operator, f"{path}?incident={nothing}")


@pytest.mark.parametrize(
    "query", ["", "?is=open", "?is=resolved", "?owner=me", "?code=process_error"]
)
def test_the_list_is_filtered(owner, incident, query):
    Incident.objects.update(assignee=get_user_model().objects.get(username="ann"))
    assert (TITLE in text(owner, f"{LIST}{query}")) == ("resolved" not in query)


@pytest.fixture
def counted() -> Iterator[CaptureQueriesContext]:
    with CaptureQueriesContext(connection) as captured:
        yield captured


@pytest.mark.parametrize("where", [LIST, "", DESK, "live"])
def test_a_page_takes_few_queries(owner, incident, where):
    url = where or page(incident)
    if where == "live":
        url = f"{LIST}{incident.pk}/live/"
    owner.get(url)
    with CaptureQueriesContext(connection) as captured:
        assert owner.get(url).status_code == 200
    assert len(captured) < 15, "\n".join(query["sql"][:200] for query in captured.captured_queries)


def test_an_alert_says_what_to_do_and_leads_to_its_incident(viewer, incident):
    html = text(viewer, f"/admin/workers/alert/{Alert.objects.latest('pk').pk}/change/")
    assert "Fix the cause, then resubmit, or complete, skip or undo." in html
    assert f'href="{page(incident)}"' in html


def test_it_leads_to_a_hold_of_its_agent(operator, incident):
    address = "/admin/workers/hold/hold/?what=agent:payment.charge"
    assert f'href="{address}"' in text(operator, page(incident))
    assert '<option value="agent:payment.charge" selected>' in text(operator, address)
    assert "selected" not in text(operator, "/admin/workers/hold/hold/?what=agent:no.such")
    assert address not in text(staff("bob"), page(incident))


#: The templates of a project that has the engine, and no front page of its own.
WITHOUT_THE_SHOP = [
    {
        **settings.TEMPLATES[0],
        "APP_DIRS": False,
        "DIRS": [
            Path(desk.__file__).parent / "templates",
            Path(django.contrib.admin.__file__).parent / "templates",
        ],
    }
]


@override_settings(TEMPLATES=WITHOUT_THE_SHOP)
def test_a_project_without_a_front_page_has_the_desk_on_the_page_of_the_engine(viewer, incident):
    html = text(viewer, "/admin/workers/")
    assert html.count(f'href="{page(incident)}') == 1
    assert 'hx-get="/admin/desk/incident/desk/"' in html
    assert html.count("data-live=") == 1
    assert TITLE in text(viewer, page(incident))
    assert TITLE in text(viewer, LIST)


@pytest.mark.parametrize("is_by_list", [True, False])
def test_jobs_on_its_members_are_linked(admin_client, incident, is_by_list):
    listed = {"list": "orders.order", "query": f"needs=error&incident={incident.pk}"}
    its = _job(listed if is_by_list else {"incident": incident.key})
    other = _job({"list": "orders.order", "query": f"incident={incident.pk}0"})

    html = text(admin_client, page(incident))

    assert f"/admin/desk/bulkjob/{its.pk}/change/" in html
    assert f"/admin/desk/bulkjob/{other.pk}/change/" not in html


def _job(source: dict[str, str]) -> BulkJob:
    return BulkJob.objects.create(
        verb="resubmit", actor="operator:ann", reason="", source=source, created_at=timezone.now()
    )


def test_a_sample_of_its_members_is_resubmitted_first(wire):
    for number in range(7):
        fail(number)
    incidents.collect()
    incident = Incident.objects.get()
    url = f"{LIST}{incident.pk}/"
    client = staff("ann", "view_bulkjob", "resubmit_order", "resubmit_process")
    html = client.get(f"{url}change/").content.decode()
    assert "Resubmit a sample of 5 first" in html

    page = client.get(f"{url}sample/?incident={incident.pk}")

    form = page.context["form"]
    assert form["sample"].value() == 5
    assert len(form["seen"].value().split(",")) == 7
    asked = {"seen": form["seen"].value(), "reason": "back", "sample": "5"}
    done = client.post(f"{page.context['post_url']}{page.context['query']}", asked)
    job = BulkJob.objects.get()
    assert (job.state, job.landed, job.left) == ("paused", 5, 2)
    assert job.source["query"] == f"incident={incident.pk}"
    assert done["Location"].endswith(f"/bulkjob/{job.pk}/change/")


def test_who_may_not_resubmit_is_offered_no_sample(wire):
    for number in range(7):
        fail(number)
    incidents.collect()
    url = f"{LIST}{Incident.objects.get().pk}/"
    viewer = staff("vic")
    assert "Resubmit a sample" not in viewer.get(f"{url}change/").content.decode()
    assert viewer.get(f"{url}sample/").status_code == 403
    assert viewer.get(f"{LIST}999/sample/").status_code in (403, 404)


@pytest.mark.parametrize(
    ("code", "subject", "address"),
    [
        ("breaker_open", "agent:payment.charge", "/admin/workers/flow/"),
        ("duty_overdue", "sweep", "/admin/desk/proberesult/"),
        ("probe_failed", "queues.are_read", "/admin/desk/proberesult/"),
        ("sink_undeliverable", "client:acme:0f3a", "/admin/workers/sink/"),
        ("route_undeliverable", "3", "/admin/desk/delivery/"),
    ],
)
def test_incident_without_process_links_to_page_about_its_cause(operator, code, subject, address):
    workers.raise_alert(code, params={}, subject=subject)
    incidents.collect()
    incident = Incident.objects.get()
    offered = f'<li><a class="sas-button" href="{address}">'
    html = text(operator, page(incident))
    assert offered in html
    assert "?incident=" not in html
    eve = staff("eve")
    eve_may = set(get_user_model().objects.get(username="eve").get_all_permissions())
    assert (offered in text(eve, page(incident))) == (
        ".view_".join(address.split("/")[2:4]) in eve_may
    )


def test_what_is_known_of_a_late_duty_stands_on_its_page(viewer):
    params = {"says": ["late", "unread", "watched"], "duty": "sweep", "seconds": "65"}
    params |= {"queue": "sas.supervisor", "waiting": "3"}
    workers.raise_alert("duty_overdue", params=params, subject="sweep")
    incidents.collect()
    html = text(viewer, page(Incident.objects.get()))
    assert "No worker performs the periodic duties: sweep" in html
    assert "no live worker reads sas.supervisor, where 3 messages wait" in html
    assert "Beat is running: start a worker that reads that queue" in html
    assert "Start Celery Beat" not in html
    assert "Next: nothing until you act." in html


def test_its_orders_are_resubmitted_by_who_may_and_seen_by_who_may_not(viewer, incident):
    assert ">Its orders</a>" in text(viewer, page(incident))
    may = staff("ann", "view_bulkjob", "resubmit_order", "resubmit_process")
    assert ">Resubmit its orders…</a>" in text(may, page(incident))


def test_resolved_incident_still_links_to_its_orders(operator, incident):
    order_in_error()
    Alert.objects.update(resolved_at=timezone.now())
    incidents.refresh()
    url = f"/admin/orders/order/?incident={incident.pk}"
    html = text(operator, page(incident))
    assert f'href="{url}">Its orders</a>' in html
    assert text(operator, url).count('class="action-select"') == 3


def test_the_samples_of_a_resolved_one_show_what_had_failed(operator, wire):
    def refuse(call: object) -> dict[str, object]:
        raise Permanent("http_400", "answered 400")

    toy.script["toy.alpha"] = refuse
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    supervisor.sweep()
    incident = Incident.objects.get()
    before = samples(text(operator, page(incident)))
    assert "answered 400" in before[-1]

    toy.script.clear()
    operations.resubmit(process.pk, actor="operator:ann", reason="mended")
    wire.run_until_idle()
    supervisor.sweep()

    incident.refresh_from_db()
    assert incident.state == "resolved"
    assert samples(text(operator, page(incident))) == before


def samples(html: str) -> list[str]:
    """Return the lines of the journals on an incident's page."""
    return re.findall("<li>(<time .*?)</li>", html.split('<ol class="sas-list sas-order">')[1])
