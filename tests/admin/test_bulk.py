"""Verbs on many rows: the preview is exact, what landed is told, and nothing else moves."""

import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.admin import toys
from tests.admin.conftest import VERBS, every_row, order_in_error, order_with, staff
from tests.factories import AlertFactory, put
from tests.toyflow import agents as toy
from workers.client import operations
from workers.desk.models import BulkItem, BulkJob
from workers.models import Flow, Journal, Process, Step
from workers.store import leases
from workers.store.flow import holds

ORDERS, PROCESSES = "/admin/orders/order/", "/admin/workers/process/"
#: Verb -> its permission, the event it leaves, and what one that changes looks like.
PERMISSIONS = {
    "resubmit": ("resubmit_process", "resubmitted"),
    "redo": ("redo_step", "resubmitted"),
    "retry": ("retry_step", "hurried"),
    "pause": ("pause_process", "paused"),
    "resume": ("pause_process", "unpaused"),
    "cancel": ("cancel_process", "compensating"),
}


def select(client: Client, verb: str, url: str, pks: Iterable[int], **more: Any) -> Any:
    data = {"action": f"{verb}_selected", "_selected_action": list(pks), **more}
    return client.post(url, data)


def seen_in(html: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', html)
    assert found is not None
    return found[1]


def of_processes() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of every process: a job leaves one in the journal that is of none."""
    rows = every_row()
    rows.pop("LogEntry")
    rows["Journal"] = [row for row in rows["Journal"] if row["process_id"] is not None]
    return rows


def ready_for(verb: str) -> Order:
    """Make an order that ``verb`` would change."""
    if verb == "retry":
        later = timezone.now() + timedelta(hours=1)
        return order_with(charge_payment={"pending": True, "not_before": later})
    if verb == "redo":
        fault = {"kind": "permanent", "code": "mail_refused", "message": "no"}
        failed = {"skipped": True, "is_optional": True, "attempt": 1, "fault": fault}
        order = order_with(reserve_stock="processed", charge_payment=failed)
        now = timezone.now()
        AlertFactory(
            cause=f"c{order.pk}", code="step_skipped", process_id=order.process_id, raised_at=now
        )
        return order
    order = order_in_error()
    if verb == "resume":
        operations.pause(order.process_id, actor="operator:ann", reason="wait")
    return order


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_exactly_what_was_shown_changes(verb, operator):
    changing = [ready_for(verb), ready_for(verb)]
    staying, apart = order_with("processed"), ready_for(verb)
    before = every_row()

    shown = select(operator, verb, ORDERS, [row.pk for row in (*changing, staying)])

    html = shown.content.decode()
    assert shown.status_code == 200
    assert "2 of 3 selected change." in html
    listed, left = html.split("These stay as they are")
    assert [str(row) in listed for row in (*changing, staying)] == [True, True, False]
    assert str(staying) in left
    assert every_row() == before

    form = {"seen": seen_in(html), "reason": "The bank is back."}
    response = operator.post(f"{ORDERS}{verb}/", form, follow=True)

    event = PERMISSIONS[verb][1]
    job = BulkJob.objects.get()
    assert response.redirect_chain[0][0] == f"/admin/desk/bulkjob/{job.pk}/change/"
    label = {"retry": "Try now", "redo": "Do again"}.get(verb, verb.capitalize())
    assert f"{label}: 2 of 2" in response.content.decode()
    assert (job.verb, job.state, job.done, job.refused) == (verb, "done", 2, 0)
    assert job.source == {"list": "orders.order", "query": ""}
    entries = Journal.objects.filter(event=event, actor="operator:operator")
    moved = set(entries.values_list("process_id", flat=True))
    assert moved == {row.process_id for row in changing}
    assert {entry.detail["reason"] for entry in entries} == {"The bank is back."}
    assert [entry.object_id for entry in LogEntry.objects.all()] == [str(job.pk)]
    rest = {staying.process_id, apart.process_id}
    after = every_row()
    for old, new in zip(before["Process"], after["Process"], strict=True):
        assert (old == new) or old["id"] not in rest


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_sent_twice_it_lands_once_and_says_so(verb, operator):
    html = select(operator, verb, ORDERS, [ready_for(verb).pk]).content.decode()
    form = {"seen": seen_in(html), "reason": "r"}
    operator.post(f"{ORDERS}{verb}/", form)
    after = of_processes()

    response = operator.post(f"{ORDERS}{verb}/", form, follow=True)

    assert "1 of 1, 1 refused" in response.content.decode()
    assert of_processes() == after


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_a_process_that_moved_is_left_and_told(verb, operator):
    order = ready_for(verb)
    html = select(operator, verb, ORDERS, [order.pk]).content.decode()
    sequence = Process.objects.get(pk=order.process_id).sequence
    Process.objects.filter(pk=order.process_id).update(sequence=sequence + 1)
    before = of_processes()

    form = {"seen": seen_in(html), "reason": "r"}
    response = operator.post(f"{ORDERS}{verb}/", form, follow=True)

    assert "has moved since" in response.content.decode()
    assert of_processes() == before


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_user_without_permission_has_no_bulk_action(verb):
    order, permission = ready_for(verb), PERMISSIONS[verb][0]
    client = staff("others", *(name for name in VERBS if name != permission))
    process = Process.objects.get(pk=order.process_id)
    form = {"seen": f"{process.pk}:{process.sequence}", "reason": "r"}
    before = every_row()
    for url in (ORDERS, PROCESSES):
        assert f'value="{verb}_selected"' not in client.get(url).content.decode()
        select(client, verb, url, [order.pk])
        assert client.post(f"{url}{verb}/", form).status_code == 403
        assert client.get(f"{url}{verb}/").status_code == 405
    assert every_row() == before


@pytest.mark.parametrize("verb", PERMISSIONS)
def test_without_a_reason_or_with_a_forged_set_nothing_changes(verb, operator):
    order = ready_for(verb)
    process = Process.objects.get(pk=order.process_id)
    seen = f"{process.pk}:{process.sequence}"
    before = every_row()
    for bad in (
        {"seen": seen, "reason": " "},
        {"seen": "x:1", "reason": "r"},
        {"reason": "r"},
        {"seen": seen, "reason": "r", "rate": "0"},
        {"seen": seen, "reason": "r", "rate": "fast"},
    ):
        assert operator.post(f"{ORDERS}{verb}/", bad).status_code == 400
    assert every_row() == before


def test_the_order_list_touches_no_process_of_another_kind(wire):
    clerk, process = staff("clerk", "resubmit_order"), toys.failed(wire)
    before = every_row()
    form = {"seen": f"{process.pk}:{process.sequence}", "reason": "r"}
    response = clerk.post(f"{ORDERS}resubmit/", form, follow=True)
    assert "None of these processes is in this list" in response.content.decode()
    assert not BulkJob.objects.exists()
    assert every_row() == before


def test_processes_of_any_workflow_are_changed_from_their_own_list(operator, wire):
    asked = toys.asked(wire, "Toy 2")
    toy.script.clear()
    resting = toys.resting(wire, "Toy 1")
    html = select(operator, "retry", PROCESSES, [resting.pk, asked.pk]).content.decode()
    assert "1 of 2 selected changes." in html
    assert "Toy 2: no step of it waits to be tried again." in html

    operator.post(f"{PROCESSES}retry/", {"seen": seen_in(html), "reason": "r"})
    assert Step.objects.get(process=resting, name="two").not_before <= timezone.now()


def test_bulk_preview_names_left_out_orders_up_to_a_limit(operator, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.bulk.selection.NAMED", 1)
    orders = [order_in_error(), *(order_with("processed") for _ in range(3))]
    html = select(operator, "cancel", ORDERS, [order.pk for order in orders]).content.decode()
    assert "and 2 more" in html


def test_of_very_many_selected_no_more_are_counted_than_a_list_counts(operator, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.bulk.selection.COUNTED", 2)
    monkeypatch.setattr("workers.desk.admin.paging.COUNTED", 2)
    monkeypatch.setattr("workers.desk.admin.bulk.selection.NAMED", 1)
    orders = [order_in_error(), *(order_with("processed") for _ in range(3))]
    html = select(operator, "cancel", ORDERS, [order.pk for order in orders]).content.decode()
    assert "1 of 2+ selected changes." in html
    assert "and more" in html


def test_beyond_the_limit_the_oldest_go_and_the_others_are_left_for_the_next_time(
    operator, settings
):
    settings.SAS_JOB_LIMIT = 2
    orders = [order_in_error() for _ in range(3)]
    html = select(operator, "resubmit", ORDERS, [order.pk for order in orders]).content.decode()
    assert "A job has 2 at most: the oldest." in html
    assert [str(order) in html for order in orders] == [True, True, False]
    assert "These stay as they are" not in html


def test_the_preview_of_a_cancellation_counts_its_undo_steps(operator, wire):
    processes = [toys.asked(wire, f"Toy {n}") for n in (1, 2)]
    html = select(operator, "cancel", PROCESSES, [row.pk for row in processes]).content.decode()
    assert "undo_first: 2" in html
    assert "unask: 2" in html


def test_of_many_the_first_are_tried_out_and_the_others_go_along(operator, monkeypatch):
    monkeypatch.setattr("workers.desk.admin.bulk.selection.LOOKED_AT", 2)
    orders = [order_in_error() for _ in range(3)]
    doubt = {"effect": "unsafe", "may_have_effect": True, "is_in_doubt": True}
    put(Step.objects.filter(process=orders[2].process_id, state="error"), **doubt)

    html = select(operator, "resubmit", ORDERS, [order.pk for order in orders]).content.decode()

    assert "3 of 3 selected change." in html
    assert "Tried out on the first 2; 1 more is judged when its turn comes." in html
    operator.post(f"{ORDERS}resubmit/", {"seen": seen_in(html), "reason": "r"})
    assert list(BulkItem.objects.order_by("pk").values_list("state", flat=True)) == [
        *("landed", "landed", "refused")
    ]


def test_bulk_preview_leaves_out_order_of_unknown_outcome_with_reason(operator):
    """As a job would refuse it: it says nothing of what happened."""
    known, unknown = order_in_error(), order_in_error(effect="unsafe", is_in_doubt=True)
    html = select(operator, "resubmit", ORDERS, [known.pk, unknown.pk]).content.decode()
    assert "Nobody knows whether charge_payment happened." in html
    assert seen_in(html) == f"{known.process_id}:0"


def test_the_preview_warns_of_what_they_would_wait_for(operator):
    now = timezone.now()
    away = {"opened_at": now - timedelta(minutes=9), "open_until": now + timedelta(seconds=20)}
    Flow.objects.update_or_create(agent="payment.charge", defaults={"window": 100, **away})
    orders = [order_in_error() for _ in range(2)]
    operations.pause(orders[0].process_id, actor="operator:ann", reason="wait")

    html = select(operator, "resubmit", ORDERS, [order.pk for order in orders]).content.decode()

    assert "charge_payment waits: no Scheduler has ever looked for work" in html
    leases.is_due(leases.POLL, 0)
    html = select(operator, "resubmit", ORDERS, [order.pk for order in orders]).content.decode()
    assert "charge_payment waits: the service of agent payment.charge has not been reached" in html
    assert "1 of them is paused: nothing of it starts" in html

    holds.hold("step", "charge_payment", actor="operator:ann", reason="no")
    html = select(operator, "resubmit", ORDERS, [order.pk for order in orders]).content.decode()
    assert "waits until operators lift the hold on steps called charge_payment" in html

    html = select(operator, "pause", ORDERS, [orders[1].pk]).content.decode()
    assert "They would wait all the same" not in html


def test_the_steps_that_are_named_are_those_that_are_tried_again(operator):
    order = order_with("error", reserve_stock="error", charge_payment={"error": True})
    Process.objects.filter(pk=order.process_id).update(outcome="compensated")
    forth = order.process.steps.get(name="reserve_stock")
    order.process.steps.filter(name="charge_payment").update(undoes=forth)
    html = select(operator, "resubmit", ORDERS, [order.pk]).content.decode()
    assert "<dt>Tried again</dt><dd>charge_payment: 1</dd>" in html
    assert "reserve_stock" not in html.partition("<h2")[0]


def test_a_pace_is_kept_with_the_job(operator):
    order = order_in_error()
    form = {"seen": f"{order.process_id}:0", "reason": "r", "rate": "2.5"}
    operator.post(f"{ORDERS}resubmit/?needs=error", form)
    job = BulkJob.objects.get()
    assert (job.rate_per_second, job.state, job.done) == (2.5, "running", 0)
    assert job.source == {"list": "orders.order", "query": "needs=error"}
