"""A person is forgotten: nothing of them is left in any table, and nothing else has changed."""

import io
import json
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import ProgrammingError
from django.utils import timezone

from orders import invariants as shop_invariants
from orders.models import Order, Product, Return
from orders.returning import accept_return
from orders.submission import Customer, Line, place_order
from tests.admin.conftest import note
from tests.admin.test_masking import ADDRESS, MAIL, NAME, SECRETS, private_order
from tests.factories import (
    AlertFactory,
    OrderFactory,
    ProcessFactory,
    SinkFactory,
    StepFactory,
    put,
)
from workers import PersonalRows
from workers.client import operations
from workers.definitions import amounts
from workers.desk.store import notes
from workers.exceptions import StateError
from workers.models import Alert, Journal, Process, Sink, Step, UndoRequest
from workers.ops import invariants
from workers.privacy import erase as erasing
from workers.privacy import persons
from workers.rules.approved_acts import Act

ANN: dict[str, Any] = {"actor": "operator:ann", "reason": "asked by post"}
#: Whatever is ours; the rest of a process is Django's and its libraries'.
OURS = ("workers", "desk", "orders", "sessions", "admin")


def dump() -> dict[str, list[dict[str, Any]]]:
    """Return every row of our tables, as a dump of the database would have them."""
    models = [model for app in OURS for model in apps.get_app_config(app).get_models()]
    return {
        model._meta.label: [_readable(row) for row in model._base_manager.order_by("pk").values()]
        for model in models
        if not model._meta.proxy
    }


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose bytes are texts: what is in them is looked for, too."""
    return {
        name: bytes(value).decode() if isinstance(value, bytes | memoryview) else value
        for name, value in row.items()
    }


def key_of(row: dict[str, Any]) -> Any:
    """Return the key of a row: its first column."""
    return next(iter(row.values()))


def secrets_in(document: Any) -> list[str]:
    text = json.dumps(document, default=str, ensure_ascii=False).casefold()
    return [secret for secret in SECRETS if secret.casefold() in text]


def ended_order() -> Order:
    """An order that has ended and says who its customer is wherever anybody may write."""
    order = private_order()
    ended = timezone.now()
    steps = Step.objects.filter(process=order.process).exclude(state="processed")
    put(steps, state="skipped", is_optional=True, finished_at=ended)
    Process.objects.filter(pk=order.process_id).update(
        state="processed", finished_at=ended, subject=f"Order of {NAME}"
    )
    Order.objects.filter(pk=order.pk).update(reference=f"for {NAME}")
    AlertFactory(
        process=order.process,
        cause="failed",
        code="failed",
        raised_at=ended,
        params={"reason": f"{NAME}: no {ADDRESS}"},
        message=f"write to {MAIL}",
        comment=NAME,
    )
    UndoRequest.objects.create(
        process=order.process, verb="input", undo=["customer.address"], sequence=1,
        asked_by="operator:bob", asked_at=ended, reason=f"{NAME} rang", state="declined",
        given={"changes": {"customer.address": ADDRESS}}, decided_by="operator:eve", comment=MAIL,
    )  # fmt: skip
    SinkFactory(
        process=order.process,
        kind="webhook",
        address="https://acme.example/",
        next_try_at=ended,
        problem={"code": "answered", "text": f"no {NAME}"},
        last_error=f"unknown: {MAIL}",
    )
    author = get_user_model().objects.create_user("ann", is_staff=True)
    # The address of before, too, stands in the journal alone.
    text = f"{NAME} rang, no longer at Hidden Lane 1"
    notes.write_on_process(order.process_id, author.pk, text, actor="operator:ann")
    about = (order.process, Alert.objects.get(), UndoRequest.objects.get(), Sink.objects.get())
    for row in about:
        LogEntry.objects.log_actions(author.pk, [row], CHANGE, f"{NAME} rang", single_object=True)
    back = ProcessFactory(
        workflow="return", state="processed", input={"number": order.number, "reason": "broken"}
    )
    StepFactory(process=back, processed=True)
    Return.objects.create(order=order, process=back)
    return Order.objects.get(pk=order.pk)


def call(*words: str) -> str:
    out = io.StringIO()
    call_command("sas", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_nothing_of_a_person_is_left_in_a_dump():
    order = ended_order()
    other = OrderFactory(customer_email="else@example.org")
    assert set(secrets_in(dump())) == set(SECRETS)

    out = call("erase", MAIL, "--reason", "asked by post")

    assert secrets_in(dump()) == []
    back = Return.objects.get().process
    assert out.splitlines() == ["Order of Z***: erased", f"{back.subject}: erased"]
    process = Process.objects.get(pk=order.process_id)
    assert process.erased_at is not None
    assert process.input["customer"] == {"name": "***", "email": "***", "address": "***"}
    assert process.input["number"] == order.number
    after = Order.objects.get(pk=order.pk)
    assert (after.customer_name, after.customer_email, after.customer_address) == ("***",) * 3
    assert after.reference == "for ***"
    assert Order.objects.get(pk=other.pk).customer_email == "else@example.org"


def test_what_is_nobodys_stays_as_it_was():
    order = ended_order()
    before = dump()

    erasing.erase(order.process_id, **ANN)

    after = dump()
    changed = {
        (table, name)
        for table, rows in before.items()
        for row in rows
        for now in after[table]
        if key_of(now) == key_of(row)
        for name in row
        if now[name] != row[name]
    }
    assert changed == {
        *(("workers.Process", name) for name in ("input", "subject", "lane", "erased_at")),
        *(("workers.Step", name) for name in ("result", "fault")),
        *(("workers.Alert", name) for name in ("params", "message", "comment")),
        *(("workers.UndoRequest", name) for name in ("given", "reason", "comment")),
        *(("workers.Sink", name) for name in ("problem", "last_error")),
        *(("orders.Order", f"customer_{name}") for name in ("name", "email", "address")),
        ("admin.LogEntry", "change_message"),
        ("workers.Journal", "detail"),
        ("orders.Order", "reference"),
        ("desk.Note", "text"),
    }
    row = Journal.objects.get(event="erased")
    assert (row.actor, row.detail) == ("operator:ann", {"reason": "asked by post"})
    # Who asked and who decided stays.
    request = UndoRequest.objects.get()
    assert (request.asked_by, request.decided_by) == ("operator:bob", "operator:eve")


@pytest.mark.parametrize("line", ["2026", "Payment", "permanent", "9.00"])
def test_records_of_engine_survive_whatever_the_person_is_called(line):
    order = ended_order()
    process = Process.objects.get(pk=order.process_id)
    process.input["customer"]["address"] = f"1 Road\n{line}"
    process.save(update_fields=["input"])
    note(order, "processed", before="processing", after="processed", detail={
        "step": "charge_payment", "agent": "payment.charge", "amount": "9.00",
        "claimed_at": "2026-11-29T23:35:02+00:00", "fault": {"kind": "permanent", "code": "c"},
    })  # fmt: skip
    before = Journal.objects.latest("pk").detail

    erasing.erase(order.process_id, **ANN)

    assert Journal.objects.get(event="processed", process=process).detail == before


def test_every_invariant_holds_for_an_order_that_was_erased(wire, sandbox):
    Product.objects.create(sku="SKU-001", name="Lamp", price=9, stock=9)
    order, _ = place_order(
        Customer(NAME, MAIL, ADDRESS), [Line("SKU-001", 1)], submission_key="k", source="shop"
    )
    wire.run_until_idle()
    assert Process.objects.get(workflow="fulfilment").state == "processed"

    assert persons.erase(MAIL, **ANN).erased == [
        f"Order {order.number}",
        f"Notice of order {order.number}: received",
    ]

    assert secrets_in(dump()) == []
    assert invariants.violations() == []
    assert shop_invariants.violations(None) == []
    # The same submission is the same order still.
    again, is_new = place_order(
        Customer(NAME, MAIL, ADDRESS), [Line("SKU-001", 1)], submission_key="k", source="shop"
    )
    assert (again.pk, is_new) == (order.pk, False)
    # And it is sent back as any other.
    accept_return(Order.objects.get(pk=order.pk), actor="operator:ann", reason="broken")
    assert secrets_in(dump()) == []


REFUSALS = (
    ({"state": "processing", "finished_at": None}, "erase_not_ended"),
    ({"state": "error", "finished_at": None}, "erase_not_ended"),
    ({"state": "compensating", "finished_at": None, "outcome": "cancelled"}, "erase_not_ended"),
    ({"erased_at": timezone.now()}, "erased_already"),
    ({"workflow": "toy_line", "version": 1}, "erase_nothing_declared"),
    ({"workflow": "gone"}, "other"),
)


@pytest.mark.parametrize(("columns", "code"), REFUSALS)
def test_what_must_not_be_erased_is_left_as_it_is(columns, code):
    order = ended_order()
    Process.objects.filter(pk=order.process_id).update(**columns)
    before = dump()

    with pytest.raises(StateError) as refusal:
        erasing.erase(order.process_id, **ANN)

    assert refusal.value.code == code
    assert dump() == before


def test_a_process_that_moved_since_it_was_looked_at_is_left_alone():
    order = ended_order()
    before = dump()
    with pytest.raises(StateError, match="has moved since"):
        erasing.erase(order.process_id, sequence=99, **ANN)
    assert dump() == before


def test_a_login_that_may_not_is_told_who_may(monkeypatch):
    order = ended_order()
    before = dump()

    monkeypatch.setattr(erasing, "_erase_rows", deny)
    with pytest.raises(StateError, match=r"permission denied for table workers_journal.*as the"):
        erasing.erase(order.process_id, **ANN)
    assert dump() == before


def test_who_approves_it_with_such_a_login_is_told_as_well(monkeypatch):
    order = ended_order()
    request = operations.ask_for_approval(order.process_id, Act("erase"), **ANN)
    monkeypatch.setattr(erasing, "_erase_rows", deny)
    decision = operations.decide_approval(request, is_approved=True, actor="operator:bob")
    assert "permission denied for table workers_journal" in str(decision.refusal)
    assert Process.objects.get(pk=order.process_id).erased_at is None
    assert not Journal.objects.filter(event="erased").exists()


class Denied(Exception):
    sqlstate = "42501"


def deny(*words: object) -> None:
    raise ProgrammingError("permission denied for table workers_journal") from Denied()


def test_rows_beside_that_the_login_may_not_delete_are_named(monkeypatch):
    order = ended_order()
    erased: list[str] = []

    class First(PersonalRows):
        name = "first"

        def erase_of_person(self, email: str) -> int:
            erased.append(email)
            return 1

    class Last(PersonalRows):
        name = "last"

        def erase_of_person(self, email: str) -> int:
            raise ProgrammingError("permission denied for table orders_deadletter") from Denied()

    monkeypatch.setattr(persons, "personal_rows", lambda: [First(), Last()])
    outcome = persons.erase(MAIL, **ANN)
    assert "permission denied for table orders_deadletter" in outcome.kept[-1]
    # What went before it was rolled back, and does not count.
    assert erased == [MAIL]
    assert outcome.beside == {}
    # The process is erased all the same.
    assert Process.objects.get(pk=order.process_id).erased_at is not None
    assert not Journal.objects.filter(event="person_erased").exists()


def test_another_fault_of_the_database_is_not_called_a_missing_right(monkeypatch):
    order = ended_order()

    def fail(*words: object) -> None:
        raise ProgrammingError("no such column") from Exception()

    monkeypatch.setattr(erasing, "_erase_rows", fail)
    with pytest.raises(ProgrammingError, match="no such column"):
        erasing.erase(order.process_id, **ANN)


def test_a_reason_that_names_the_person_is_refused():
    order = ended_order()
    before = dump()
    with pytest.raises(StateError, match="must not name the person"):
        erasing.erase(order.process_id, actor="operator:ann", reason="Zelda wrote")
    assert dump() == before


def test_no_agent_is_given_what_stands_in_place_of_a_person():
    order = ended_order()
    step = Step.objects.get(process=order.process, name="charge_payment")
    erasing.erase(order.process_id, **ANN)
    before = dump()

    with pytest.raises(StateError, match="were erased"):
        operations.redo(order.process_id, step.name, **ANN)

    assert dump() == before


def test_above_the_sum_it_takes_two_persons(settings, monkeypatch):
    settings.SAS_TWO_PERSONS_ABOVE = "100"
    monkeypatch.setattr(amounts, "_appraisers", [lambda ids: dict.fromkeys(ids, 101)])
    order = ended_order()
    before = dump()
    with pytest.raises(StateError, match="takes two persons"):
        erasing.erase(order.process_id, **ANN)
    assert dump() == before
    assert persons.erase(MAIL, dry_run=True, **ANN).erased == []

    request = operations.ask_for_approval(order.process_id, Act("erase"), **ANN)
    assert secrets_in(dump()) != []
    operations.decide_approval(request, is_approved=True, actor="operator:bob")

    assert secrets_in(dump()) == []
    row = Journal.objects.get(event="erased")
    assert row.actor == "operator:bob"
