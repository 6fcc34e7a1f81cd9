"""Personal data is masked on every page until somebody with the right asks, and that is kept."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone

from orders.models import DeadLetter, Order
from tests.admin import toys
from tests.admin.conftest import ACTIONS, alert_about, every_row, note, order_in_error, staff
from tests.admin.test_escaping import walk
from tests.factories import ProcessFactory
from workers.client import operations
from workers.desk.admin import masking, showing
from workers.desk.models import Incident
from workers.desk.operate import jobs
from workers.desk.store import incidents, notes, saved_views
from workers.models import Alert, Journal, Process, Step
from workers.rules.approved_acts import Act
from workers.runtime.json_text import encode_document
from workers.store.flow import holds
from workers.store.operate import edit_input, undo_requests

NAME, MAIL, ADDRESS = "Zelda Quuxmore", "zelda.quuxmore@example.org", "77 Hidden Lane\nNowhereville"
CUSTOMER = {"name": NAME, "email": MAIL, "address": ADDRESS}
#: None of it may be on a page.
SECRETS = ("Zelda", "Quuxmore", "zelda.quuxmore", "Hidden Lane", "Nowhereville")


def test_of_a_workflow_that_this_code_has_not_everything_is_masked():
    process = Process(workflow="gone", version=9, input={"a": "secret", "n": 5})
    assert masking.of_process(process).value(process.input) == {"a": "s***", "n": "***"}


# ---------------------------------------------------------------- pages


def private_order() -> Order:
    """An order that says who its customer is wherever an order can."""
    order = order_in_error(
        fault={"kind": "permanent", "code": "address", "message": f"{NAME}: no {ADDRESS}"}
    )
    Order.objects.filter(pk=order.pk).update(
        customer_name=NAME, customer_email=MAIL, customer_address=ADDRESS
    )
    Process.objects.filter(pk=order.process_id).update(
        input={"number": order.number, "customer": CUSTOMER}, lane=MAIL, version=2,
        editable=["customer.address", "customer.email"],
    )  # fmt: skip
    Step.objects.filter(process=order.process, name="reserve_stock").update(
        state="processed", attempt=1, finished_at=timezone.now(), not_before=None,
        result={"label": f"for {NAME}", "customer": CUSTOMER},
    )  # fmt: skip
    step = Step.objects.get(process=order.process, name="charge_payment")
    note(order, "failed", step=step, before="processing", after="pending", attempt=1,
         detail={"fault": step.fault})  # fmt: skip
    note(order, "input_edited", actor="operator:ann", detail={
        "reason": f"{NAME} rang", "changes": {"customer.address": ["Hidden Lane 1", ADDRESS]},
    })  # fmt: skip
    return order


def private_letter(body: bytes | None = None) -> DeadLetter:
    return DeadLetter.objects.create(
        received_at=timezone.now(),
        message_id="m-1",
        client="acme",
        properties={"headers": {"who": MAIL}},
        body=body or encode_document({"customer": CUSTOMER, "lines": 5}).encode(),
        reasons=[{"field": "lines", "problem": "is no list"}],
    )


def words_about(order: Order, client: Client) -> None:
    """Have people write of a customer wherever they can; of no one process by mail alone."""
    process = order.process
    reason = f"{NAME} called from {MAIL}"
    about = {"actor": "operator:ann", "reason": f"{MAIL} called"}
    sequence = Process.objects.get(pk=process.pk).sequence
    client.post(
        f"/admin/workers/process/{process.pk}/pause/", {"reason": reason, "sequence": sequence}
    )
    assert Process.objects.get(pk=process.pk).paused_at is not None
    holds.hold("agent", "payment.charge", **about)
    sequence = Process.objects.get(pk=process.pk).sequence
    jobs.start(
        "resume",
        {process.pk: sequence + 1},
        **about,
        source={"list": "orders.order", "query": "q=zelda.quuxmore%40example.org"},
    )
    author = int(get_user_model().objects.get(is_superuser=True).pk)
    for incident in Incident.objects.all():
        notes.write_on_incident(incident.pk, author, f"{MAIL} rang", actor="operator:ann")
    notes.write_on_process(process.pk, author, reason, actor="operator:ann")
    DeadLetter.objects.update(comment=reason, reasons=[{"field": "a", "problem": f"is {MAIL}"}])
    Alert.objects.filter(process=process).update(acknowledged_at=timezone.now(), comment=reason)


def found(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret.lower() in text.lower()]


@pytest.mark.volume
def test_no_admin_page_shows_unrequested_personal_data(wire, admin_client):
    order = private_order()
    alert_about(order, message=f"Order {order.number}: write to {MAIL}")
    failed = Step.objects.get(process=order.process, name="charge_payment")
    params = {"subject": f"Order {order.number}", "step": failed.name, "reason": f"{NAME}: no"}
    alert_about(order, message="", cause="failed", params=params, step=failed)
    private_letter()
    toys.asked(wire)
    incidents.collect()
    undo_requests.ask(
        order.process_id, Act("cancel"), actor="operator:ann", reason=f"{NAME} rang from {MAIL}"
    )
    words_about(order, admin_client)
    owner = get_user_model().objects.get(is_superuser=True).pk
    saved_views.save(owner, "orders.order", "In error", "state=error")
    visited, pages = walk(admin_client)
    assert {"orders_order_change", "workers_process_input", "orders_deadletter_change"} <= visited
    assert {"desk_incident_change", "desk_savedview_change"} <= visited
    assert "workers_undorequest_change" in visited
    assert {"workers_process_history", "workers_hold_changelist", "desk_bulkjob_change"} <= (
        visited
    )
    assert {url: found(text) for url, text in pages.items() if found(text)} == {}
    assert any("z***@example.org" in text for text in pages.values())


def test_permitted_user_sees_personal_data_after_asking_and_is_journalled(operator):
    shower = staff("shower", "show_personal", *ACTIONS)
    order = private_order()
    page = f"/admin/orders/order/{order.number}"
    assert found(shower.get(f"{page}/change/").content.decode()) == []

    answer = shower.post(f"{page}/show/")

    assert answer.status_code == 302
    row = Journal.objects.get(event="personal_shown")
    assert (row.process_id, row.actor, row.sequence) == (
        order.process_id, "operator:shower", None,
    )  # fmt: skip
    for url in (f"{page}/change/", f"{page}/live/"):
        assert found(shower.get(url).content.decode()) == list(SECRETS), url
    # It is the same order on the engine's own page.
    engine = f"/admin/workers/process/{order.process_id}/change/"
    assert "Quuxmore" in shower.get(engine).content.decode()
    assert (
        "77 Hidden Lane"
        in shower.get(f"/admin/workers/process/{order.process_id}/input/").content.decode()
    )
    # Nobody else sees it, and of nothing else.
    assert found(operator.get(f"{page}/change/").content.decode()) == []
    other = private_order()
    html = shower.get(f"/admin/orders/order/{other.number}/change/").content.decode()
    assert found(html) == []
    assert found(shower.get("/admin/orders/order/").content.decode()) == []

    shower.post(f"{page}/hide/")
    assert found(shower.get(f"{page}/change/").content.decode()) == []
    assert Journal.objects.filter(event="personal_shown").count() == 1


def test_who_answers_sees_no_more_than_others_until_they_ask():
    shower = staff("shower", "show_personal", *ACTIONS)
    order = private_order()
    Step.objects.filter(process=order.process, name="charge_payment").update(
        state="processing", claim_id=uuid4(), fault=None,
        locked_by="agent@test", not_before=None,
        started_at=timezone.now(), complete_by=timezone.now() + timedelta(seconds=30),
        deferral={"question": f"Is {NAME} known?", "since": "x"},
    )  # fmt: skip
    page = f"/admin/workers/process/{order.process_id}"
    url = f"{page}/steps/charge_payment/answer/"

    html = shower.get(url).content.decode()
    assert "Is Z*** known?" in html
    assert found(html) == []
    assert f'href="{page}/change/"' in html

    shower.post(f"{page}/show/")
    assert found(shower.get(url).content.decode()) == list(SECRETS)


def test_it_is_masked_again_after_a_while(monkeypatch):
    shower = staff("shower", "show_personal")
    url = f"/admin/orders/order/{private_order().number}"
    shower.post(f"{url}/show/")
    later = showing.time.time() + showing.SECONDS
    monkeypatch.setattr(showing.time, "time", lambda: later)
    assert found(shower.get(f"{url}/change/").content.decode()) == []


def test_a_right_that_was_taken_away_shows_nothing_any_more():
    shower = staff("shower", "show_personal")
    url = f"/admin/orders/order/{private_order().number}"
    shower.post(f"{url}/show/")
    user = get_user_model().objects.get(username="shower")
    user.user_permissions.set(user.user_permissions.exclude(codename="show_personal"))
    assert found(shower.get(f"{url}/change/").content.decode()) == []


@pytest.mark.parametrize("kind", ["order", "process", "letter"])
def test_who_may_not_is_refused_and_nothing_is_written(operator, kind):
    order, letter = private_order(), private_letter()
    url = {
        "order": f"/admin/orders/order/{order.number}",
        "process": f"/admin/workers/process/{order.process_id}",
        "letter": f"/admin/orders/deadletter/{letter.pk}",
    }[kind]
    before = every_row()
    assert operator.post(f"{url}/show/").status_code == 403
    assert "Show personal data" not in operator.get(f"{url}/change/").content.decode()
    assert every_row() == before
    # Nor by a link that somebody is led to.
    assert staff("shower", "show_personal").get(f"{url}/show/").status_code == 405
    assert every_row() == before


def test_a_dead_letter_is_shown_on_request_too():
    shower = staff("shower", "show_personal")
    letter = private_letter()
    url = f"/admin/orders/deadletter/{letter.pk}"
    assert found(shower.get(f"{url}/change/").content.decode()) == []
    shower.post(f"{url}/show/")
    assert "Quuxmore" in shower.get(f"{url}/change/").content.decode()
    row = Journal.objects.get(event="personal_shown")
    assert row.detail == {"what": f"orders.deadletter:{letter.pk}"}
    assert row.process_id is None


def test_a_message_that_cannot_be_read_is_masked_whole(operator):
    letter = private_letter(f"<order><name>{NAME}</name></order>".encode())
    html = operator.get(f"/admin/orders/deadletter/{letter.pk}/change/").content.decode()
    assert found(html) == []
    assert "masked whole" in html


def test_who_was_shown_a_process_reads_why_it_is_paused(operator):
    order = private_order()
    operations.pause(order.process_id, actor="operator:ann", reason=f"{NAME} rang")
    page = f"/admin/orders/order/{order.number}"
    assert "Z*** rang" in operator.get(f"{page}/live/").content.decode()
    shower = staff("shower", "show_personal")
    shower.post(f"{page}/show/")
    assert f"{NAME} rang" in shower.get(f"{page}/live/").content.decode()


# ---------------------------------------------------------------- correcting what is masked


def correct(client: Client, order: Order, **values: str) -> Any:
    process = Process.objects.get(pk=order.process_id)
    form = {"sequence": process.sequence, "reason": "they rang", "value_0": "", "value_1": ""}
    url = f"/admin/workers/process/{process.pk}/input/"
    return client.post(url, {**form, **values})


def test_what_is_masked_is_corrected_unseen_and_the_rest_stays(operator):
    order = private_order()
    shown = operator.get(f"/admin/workers/process/{order.process_id}/input/").content.decode()
    assert found(shown) == []
    assert "7***" in shown

    preview = correct(operator, order, value_0="1 New Street").content.decode()
    assert found(preview) == []
    assert "<del>7***</del>" in preview
    assert "<ins>1 New Street</ins>" in preview

    assert correct(operator, order, value_0="1 New Street", confirm="yes").status_code == 302
    process = Process.objects.get(pk=order.process_id)
    assert process.input["customer"] == {**CUSTOMER, "address": "1 New Street"}


def test_nothing_typed_changes_nothing(operator):
    order = private_order()
    before = every_row()
    answer = correct(operator, order, confirm="yes")
    assert answer.status_code == 400
    assert "No changes" in answer.content.decode()
    assert every_row() == before


def test_the_store_knows_no_mask(wire):
    """What is masked is masked in memory: agents, journal and input keep what was sent."""
    process = toys.editable(wire)
    edit_input.edit_input(
        process.pk, {"customer.address": ADDRESS}, actor="operator:ann", reason="they rang"
    )
    row = Journal.objects.get(event="input_edited")
    assert row.detail["changes"]["customer.address"][1] == ADDRESS


def test_a_page_writes_none_of_its_masks(operator):
    order = private_order()
    before = every_row()
    operator.get(f"/admin/orders/order/{order.number}/change/")
    operator.get(f"/admin/workers/process/{order.process_id}/cancel/")
    operator.get("/admin/orders/order/")
    assert every_row() == before


def test_a_process_of_no_workflow_of_ours_is_masked_whole(operator):
    process = ProcessFactory(workflow="gone", version=3, input={"who": NAME})
    html = operator.get(f"/admin/workers/process/{process.pk}/change/").content.decode()
    assert found(html) == []
