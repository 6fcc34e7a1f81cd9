"""Notes on processes, and the sheet that one person on duty hands to the next."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core import mail
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from orders.models import DeadLetter
from tests.admin.conftest import every_row, order_in_error, order_with, staff
from tests.admin.test_incidents import fail
from tests.admin.test_masking import NAME, private_order
from workers.client import operations
from workers.desk.admin import hand_over
from workers.desk.models import BulkJob, Incident, Note
from workers.desk.notify import incident_sender as senders
from workers.desk.store import incidents, notes
from workers.models import Flow, Journal, Process, UndoRequest
from workers.store import alerts
from workers.store.flow import holds
from workers.supervisor import beat_schedule

SHEET = "/admin/desk/incident/hand-over/"
WORD = {"actor": "operator:ann", "reason": "stocktaking"}


@pytest.fixture
def keeper(db) -> Client:
    beat_schedule.ensure_flow()
    return staff("keeper", "hand_over_incident", "note_process")


def busy() -> Process:
    """One of each thing that a sheet has."""
    fail(1)
    incidents.collect()
    user = get_user_model().objects.get(username="keeper")
    notes.write_on_incident(Incident.objects.get().pk, user.pk, "They know.", actor=WORD["actor"])
    holds.hold("agent", "stock.reserve", **WORD)
    order = order_in_error()
    process = Process.objects.get(pk=order.process_id)
    operations.pause(process.pk, actor="operator:ann", reason="audit")
    BulkJob.objects.create(
        verb="resubmit", state="running", actor="operator:ann", reason="mended", total=9, done=2,
        created_at=timezone.now(),
    )  # fmt: skip
    now = timezone.now()
    Flow.objects.filter(agent="payment.charge").update(opened_at=now, open_until=now)
    return process


def test_a_note_stands_on_the_order_and_its_process_alike(keeper):
    order = order_in_error()
    url = f"/admin/orders/order/{order.number}/"
    answer = keeper.post(f"{url}note/", {"text": "The buyer rang."})
    assert answer.url == f"{url}change/#notes-title"
    for page in (f"{url}change/", f"/admin/workers/process/{order.process_id}/change/"):
        html = keeper.get(page).content.decode()
        assert "The buyer rang." in html
        assert "keeper" in html
    row = Journal.objects.get(event="noted")
    assert (row.process_id, row.actor, row.sequence) == (order.process_id, "operator:keeper", None)
    assert "The buyer rang." not in str(row.detail)


def test_a_note_needs_its_right_and_some_text(keeper, viewer):
    order = order_in_error()
    url = f"/admin/workers/process/{order.process_id}/"
    before = every_row()
    assert viewer.post(f"{url}note/", {"text": "x"}).status_code == 403
    assert "Write a note" not in viewer.get(f"{url}change/").content.decode()
    assert keeper.get(f"{url}note/").status_code == 405
    for text in ("", "x" * (notes.LONGEST_NOTE + 1)):
        keeper.post(f"{url}note/", {"text": text})
    assert every_row() == before
    assert keeper.post("/admin/workers/process/999999/note/", {"text": "x"}).status_code == 404


def test_a_note_of_a_name_is_masked(keeper):
    order = private_order()
    notes.write_on_process(
        order.process_id, get_user_model().objects.get().pk, f"{NAME} rang", actor="x"
    )
    html = keeper.get(f"/admin/orders/order/{order.number}/change/").content.decode()
    assert NAME not in html
    assert " rang" in html
    assert NAME not in keeper.get(SHEET).content.decode()


def test_a_note_is_on_one_thing(keeper):
    assert not notes.write_on_process(999_999, 1, "x", actor="operator:ann")
    assert not notes.write_on_incident(999_999, 1, "x", actor="operator:ann")
    assert not Note.objects.exists()


def test_the_sheet_has_what_the_next_one_must_know(keeper):
    process = busy()
    html = keeper.get(SHEET).content.decode()
    for said in (
        "fails for good", "They know.", "stock.reserve", "stocktaking", process.subject,
        "2 of 9", "mended", "payment.charge", "next probe", "by operator:ann: audit",
    ):  # fmt: skip
        assert said in html, said


def test_the_sheet_has_what_waits_for_somebody(keeper):
    html = keeper.get(SHEET).content.decode()
    assert "Open dead letters" not in html
    letter = {"state": "open", "received_at": timezone.now(), "body": b"{"}
    DeadLetter.objects.create(**letter)
    DeadLetter.objects.create(**letter)
    DeadLetter.objects.create(**letter | {"state": "discarded"})
    order_with(charge_payment={"started": True, "deferral": {"since": "x", "question": "?"}})
    alerts.raise_alert("sink_undeliverable", params={"says": []}, subject="acme:1")
    process = Process.objects.get(pk=order_in_error().process_id)
    UndoRequest.objects.create(
        process=process, verb="cancel", state="waiting", sequence=process.sequence, asked_by="ann",
        asked_at=timezone.now(), reason="lost", amount=9, undo=[],
    )  # fmt: skip
    html, text = keeper.get(SHEET).content.decode(), hand_over.text(hand_over.read())
    for said in (
        "Open dead letters: 2", "Steps that wait for an answer: 1", "Requests for approval: 1",
        "Receivers that are told no more: 1",
    ):  # fmt: skip
        assert said in html, said
        assert f"- {said}, the oldest since" in text, said
    link = 'href="/admin/orders/deadletter/?state=open"'
    assert link in html
    # A list that the user may not open is told of, and not led to.
    user = get_user_model().objects.get(username="keeper")
    user.user_permissions.remove(Permission.objects.get(codename="view_deadletter"))
    html = keeper.get(SHEET).content.decode()
    assert "Open dead letters: 2" in html
    assert link not in html


def test_a_sheet_costs_the_same_however_much_there_is(keeper):
    busy()
    keeper.get(SHEET)
    with CaptureQueriesContext(connection) as few:
        keeper.get(SHEET)
    for number in range(5):
        fail(number + 10, code=f"http_{number}")
        operations.pause(order_in_error().process_id, **WORD)
    incidents.collect()
    with CaptureQueriesContext(connection) as many:
        keeper.get(SHEET)
    assert len(few) == len(many) < 18


def test_it_is_mailed_to_chosen_persons_and_journalled(keeper, monkeypatch):
    monkeypatch.setitem(senders.senders, "mail", senders.mail)
    process = busy()
    bob = get_user_model().objects.create_user("bob", "bob@example.org", is_staff=True)
    get_user_model().objects.create_user("eve", "eve@example.org")
    html = keeper.get(SHEET).content.decode()
    assert "bob" in html
    assert "eve" not in html
    assert keeper.post(SHEET, {"to": []}).status_code == 400
    assert keeper.post(SHEET, {"to": [bob.pk], "comment": "Quiet night."}).status_code == 302
    (letter,) = mail.outbox
    assert letter.to == ["bob@example.org"]
    assert letter.subject.startswith("Hand-over, ")
    body = str(letter.body)
    for said in ("Quiet night.", "fails for good", "They know.", process.subject, "payment.charge"):
        assert said in body, said
    row = Journal.objects.latest("pk")
    assert (row.event, row.actor) == ("handed_over", "operator:keeper")
    assert row.detail == {"to": ["bob"], "reason": "Quiet night."}


def test_a_mail_that_does_not_leave_is_told(keeper, monkeypatch):
    bob = get_user_model().objects.create_user("bob", "bob@example.org", is_staff=True)

    def refuse(letter: Any) -> None:
        raise senders.Undelivered("the mail server failed (OSError)")

    monkeypatch.setitem(senders.senders, "mail", refuse)
    answer = keeper.post(SHEET, {"to": [bob.pk]})
    assert answer.status_code == 502
    assert "the mail server failed" in answer.content.decode()
    assert not Journal.objects.filter(event="handed_over").exists()


def test_it_has_a_right_of_its_own(viewer):
    assert viewer.get(SHEET).status_code == 403
    assert viewer.post(SHEET, {"to": []}).status_code == 403
    assert SHEET not in viewer.get("/admin/desk/incident/").content.decode()


@pytest.mark.parametrize("hours", ["", "0", "9999", "x"])
def test_whatever_hours_are_asked_for_it_is_shown(keeper, hours):
    assert keeper.get(f"{SHEET}?hours={hours}").status_code == 200


def test_the_terminal_prints_it(keeper, capsys):
    busy()
    call_command("sas", "incidents", "--hand-over")
    out = capsys.readouterr().out
    assert out.startswith("Hand-over, ")
    assert "They know." in out
    assert "payment.charge" in out
    with pytest.raises(CommandError, match="--hours must be 1 to 168, got 0"):
        call_command("sas", "incidents", "--hand-over", "--hours", "0")


def test_members_of_an_incident_are_a_file(keeper):
    busy()
    incident = Incident.objects.get()
    text = b"".join(keeper.get(f"/admin/desk/incident/{incident.pk}/csv/")).decode("utf-8-sig")  # type: ignore[arg-type]
    lines = text.splitlines()
    assert lines[0].startswith("process,subject,message")
    assert "20.00" in lines[1]
    assert Journal.objects.latest("pk").detail == {"incident": incident.key, "id": incident.pk}
    clerk = Client()
    clerk.force_login(get_user_model().objects.create_user("clerk", is_staff=True))
    assert clerk.get(f"/admin/desk/incident/{incident.pk}/csv/").status_code == 403
