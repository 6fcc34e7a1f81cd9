"""A terminal shows of personal data what the admin shows: nothing, until it is asked for."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from orders.models import DeadLetter
from tests.admin.conftest import alert_about
from tests.admin.test_masking import MAIL, NAME, found, private_letter, private_order
from workers.client import operations
from workers.desk.models import BulkJob
from workers.desk.operate import jobs
from workers.desk.store import incidents
from workers.models import Journal, Step
from workers.store.flow import holds


def said(*words: object) -> str:
    out = StringIO()
    call_command(*map(str, words), stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("kind", ["order", "process", "letter"])
def test_terminal_masks_personal_data_until_asked_and_journals_showing(kind, form):
    order, letter = private_order(), private_letter()
    words: tuple[object, ...] = {
        "order": ("order", "show", order.number),
        "process": ("sas", "process", "show", order.process_id),
        "letter": ("dead_letters", "show", letter.pk),
    }[kind]
    masked = said(*words, *form)
    assert found(masked) == []
    assert "***" in masked
    assert not Journal.objects.filter(event="personal_shown").exists()

    shown = said(*words, "--personal", *form)

    assert "Quuxmore" in shown
    row = Journal.objects.get(event="personal_shown")
    assert row.actor.startswith("operator:")
    assert row.process_id == (None if kind == "letter" else order.process_id)
    named = f"orders.deadletter:{letter.pk}" if kind == "letter" else "workers.process:"
    assert row.detail["what"].startswith(named)


def test_a_message_that_cannot_be_read_is_masked_whole():
    letter = private_letter(f"<order><name>{NAME}</name></order>".encode())
    assert found(said("dead_letters", "show", letter.pk)) == []
    (shown,) = json.loads(said("dead_letters", "show", letter.pk, "--json", "--personal"))
    assert shown["body"] == f"<order><name>{NAME}</name></order>"


def test_a_correction_masks_what_was_there(tmp_path):
    letter = private_letter()
    body = tmp_path / "body.json"
    body.write_text(
        json.dumps(
            {
                "customer": {"name": NAME, "email": MAIL, "address": "1 New Street"},
                "lines": [{"sku": "X", "quantity": 1}],
            }
        )
    )
    words = ("dead_letters", "correct", letter.pk, "--reason", "r", "--dry-run", "--body", body)
    out = StringIO()
    with pytest.raises(CommandError, match="no client 'acme'"):
        call_command(*map(str, words), stdout=out)
    assert "customer.address: 7*** -> 1 New Street" in out.getvalue()
    assert found(out.getvalue()) == []


def test_no_list_of_a_terminal_shows_it():
    order = private_order()
    private_letter()
    DeadLetter.objects.update(reasons=[{"field": "customer", "problem": f"is {MAIL}"}])
    failed = Step.objects.get(process=order.process, name="charge_payment")
    params = {"subject": f"Order {order.number}", "step": failed.name, "reason": f"{NAME}: no"}
    alert_about(order, message="", cause="failed", params=params, step=failed)
    incidents.collect()
    for words in (
        ("sas", "incidents"),
        ("sas", "incidents", "--json"),
        ("sas", "incidents", "--hand-over"),
        ("dead_letters", "list"),
        ("dead_letters", "list", "--json"),
        ("dead_letters", "groups"),
        ("sas", "jobs", "list"),
    ):
        told = said(*words)
        assert found(told) == [], (words, told)
        assert told


def test_what_people_wrote_is_masked_in_every_terminal_too():
    order = private_order()
    about = {"actor": "operator:ann", "reason": f"{MAIL} called"}
    operations.pause(order.process_id, actor="operator:ann", reason=f"{NAME} called from {MAIL}")
    holds.hold("agent", "payment.charge", **about)
    jobs.start("pause", {order.process_id: 0}, **about, source={})
    number = BulkJob.objects.get().pk
    for words in (
        ("order", "show", order.number),
        ("order", "show", order.number, "--json"),
        ("sas", "process", "show", order.process_id, "--json"),
        ("sas", "flow", "show"),
        ("sas", "flow", "show", "--json"),
        ("sas", "jobs", "list"),
        ("sas", "jobs", "list", "--json"),
        ("sas", "jobs", "show", number),
        ("sas", "jobs", "show", number, "--json"),
        ("sas", "incidents", "--hand-over"),
    ):
        told = said(*words)
        assert found(told) == [], (words, told)
        assert "***" in told, words
