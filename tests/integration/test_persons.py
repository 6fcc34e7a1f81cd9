"""One person is exported and erased by mail address, and nobody else is."""

import json
from urllib.parse import quote_plus

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.utils import timezone

from orders import dead_letters, plain_text
from orders.models import DeadLetter, Order
from tests.admin.test_masking import ADDRESS, CUSTOMER, MAIL, NAME, private_letter, private_order
from tests.factories import OrderFactory, ProcessFactory, StepFactory
from tests.integration.test_erasing import ANN, call, dump, ended_order, secrets_in
from workers.desk.models import BulkJob, Incident, Note
from workers.desk.store import jobs, notes
from workers.exceptions import StateError
from workers.management.terminal import actor
from workers.models import Journal, Process
from workers.privacy import persons, register
from workers.store.flow import holds


def test_a_dry_run_says_what_would_go_and_changes_nothing():
    order = ended_order()
    letter = private_letter()
    dead_letters.discard(letter.pk, actor="operator:ann", reason=f"{NAME} rang")
    ann = get_user_model().objects.get(username="ann")
    LogEntry.objects.log_actions(ann.pk, [letter], CHANGE, f"{NAME} rang", single_object=True)
    before = dump()

    out = call("erase", MAIL.upper(), "--dry-run")

    assert out.splitlines()[0] == "Order of Z***: would be erased"
    assert "dead letters: 1 would be erased" in out
    assert dump() == before
    call("erase", MAIL, "--reason", "asked by post")
    assert secrets_in(dump()) == []
    assert not DeadLetter.objects.exists()
    assert Order.objects.get(pk=order.pk).customer_name == "***"


def test_a_note_on_an_incident_that_names_the_address_goes():
    author = get_user_model().objects.create_user("ann", is_staff=True)
    now = timezone.now()
    incident = Incident.objects.create(
        key="k", kind="other", code="c", severity=1, opened_at=now, last_at=now
    )
    for text in (f"{MAIL} rang", "the carrier rang"):
        notes.write_on_incident(incident.pk, author.pk, text, actor="operator:ann")

    assert persons.erase(MAIL, dry_run=True, **ANN).beside == {"notes": 1}
    assert Note.objects.count() == 2
    assert persons.erase(MAIL, **ANN).beside == {"notes": 1}
    assert Note.objects.get().text == "the carrier rang"


def test_address_goes_from_reasons_searches_and_log_beside_processes():
    reason, other = f"{MAIL} called", "jo.zelda.quuxmore@example.org called"
    user = get_user_model().objects.create_user("ann", is_staff=True)
    for text in (reason, other):
        holds.hold("everything", actor="operator:ann", reason=text)
        holds.lift("everything", actor="operator:ann", reason=text)
        query = f"q={quote_plus(text.split()[0])}"
        for why, search in ((text, ""), ("asked by mail", query)):
            source = {"list": "orders.order", "query": search}
            jobs.create("resume", {}, actor="operator:ann", reason=why, source=source)
        LogEntry.objects.log_actions(user.pk, [BulkJob.objects.latest("pk")], CHANGE, text)

    counts = {"reasons": 4, "jobs": 2, "admin log": 1}
    exported = json.loads(persons.export(MAIL, actor="operator:ann"))
    assert {name: len(exported[name]) for name in counts} == counts
    assert persons.erase(MAIL, dry_run=True, **ANN).beside == counts
    assert persons.erase(MAIL, **ANN).beside == counts

    left = json.dumps(dump(), default=str)
    assert left.replace("jo.zelda", "").count(MAIL.partition("@")[0]) == 0
    assert left.count("jo.zelda.quuxmore") == 7
    assert persons.erase(MAIL, **ANN).beside == {}


def test_what_has_not_ended_is_kept_and_named_and_the_rest_goes():
    open_order, order = private_order(), ended_order()
    letter = private_letter()

    with pytest.raises(CommandError) as kept:
        call("erase", MAIL, "--reason", "asked by post")

    assert f"{open_order.process.subject} is error and may still need" in str(kept.value)
    assert f"Dead letter {letter.pk} is open." in str(kept.value)
    assert Order.objects.get(pk=order.pk).customer_name == "***"
    assert Order.objects.get(pk=open_order.pk).customer_name == NAME
    # Whoever reads the audit sees that something is left to do.
    assert Journal.objects.get(event="person_erased").detail["kept"] == 2
    assert DeadLetter.objects.get().pk == letter.pk


def test_a_process_of_an_app_that_registered_nothing_is_found_by_its_input():
    process = ProcessFactory(
        version=2, state="processed", input={"customer": {"email": MAIL}, "number": 1}
    )
    StepFactory(process=process, processed=True)
    # Other addresses that end alike, or stand in a longer one.
    others = [
        ProcessFactory(version=2, state="processed", input={"customer": {"email": mail}})
        for mail in (f"jo.{MAIL}", f"{MAIL}.uk")
    ]
    assert persons.find(MAIL.title()) == [process.pk]
    persons.erase(MAIL, **ANN)
    assert Process.objects.get(pk=process.pk).input == {
        "customer": {"email": "***"}, "number": 1
    }  # fmt: skip
    assert Process.objects.filter(erased_at=None).count() == len(others)


def test_an_address_that_is_not_ascii_is_found():
    mail = "zoë@exämple.org"
    process = ProcessFactory(version=2, state="processed", input={"customer": {"email": mail}})
    assert persons.find(mail) == [process.pk]


@pytest.mark.parametrize(
    "other", ["joann@example.org", "jo.ann@example.org", "ann@example.org.uk", "ann+x@example.org"]
)
def test_another_persons_rows_are_neither_exported_nor_erased(other):
    author = get_user_model().objects.create_user("ann", is_staff=True)
    now = timezone.now()
    incident = Incident.objects.create(
        key="k", kind="other", code="c", severity=1, opened_at=now, last_at=now
    )
    notes.write_on_incident(incident.pk, author.pk, f"call {other}", actor="operator:ann")
    OrderFactory(customer_email=other)
    for state in ("open", "discarded"):
        letter = private_letter(json.dumps({"customer": {"email": other}}).encode())
        DeadLetter.objects.filter(pk=letter.pk).update(state=state, properties={})
    before = dump()

    outcome = persons.erase("ann@example.org", **ANN)

    assert (outcome.kept, outcome.erased, outcome.beside) == ([], [], {})
    assert set(json.loads(persons.export("ann@example.org", actor="x"))) == {
        "email", "processes"
    }  # fmt: skip
    assert {name: rows for name, rows in dump().items() if name != "workers.Journal"} == {
        name: rows for name, rows in before.items() if name != "workers.Journal"
    }


@pytest.mark.parametrize("encoding", ["ascii", "utf-16", "utf-32"])
@pytest.mark.parametrize("at", ["@", "\\u0040"])
def test_dead_letter_is_found_however_it_is_encoded(encoding, at):
    body = json.dumps({"customer": CUSTOMER}).replace("@", at).encode(encoding)
    letter = private_letter(body)
    DeadLetter.objects.filter(pk=letter.pk).update(state="discarded", properties={})
    assert persons.erase(MAIL, **ANN).beside == {"dead letters": 1}


@pytest.mark.parametrize(
    ("taken", "asked"),
    [
        ("o'brien@example.org", "O'Brien@example.org"),
        ("ann#1@example.org", "ann#1@example.org"),
        ("ann+shop@example.org", "Ann+Shop@example.org"),
        ("ann@exämple.org", "ann@xn--exmple-cua.org"),
    ],
)
def test_whoever_may_order_is_exported_and_erased_in_a_terminal(taken, asked):
    assert plain_text.email(taken) == taken
    process = ProcessFactory(version=2, state="processed", input={"customer": {"email": taken}})
    StepFactory(process=process, processed=True)
    OrderFactory(process=process, customer_email=taken)
    assert len(json.loads(call("export", asked))["processes"]) == 1
    call("erase", asked, "--reason", "asked by post")
    assert Order.objects.get().customer_email == "***"


def test_who_is_not_known_is_said_to_be_so():
    before = dump()
    out = call("erase", "nobody@example.org", "--dry-run")
    assert out == "Nothing is kept of nobody@example.org.\n"
    assert dump() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("zelda",), "EMAIL must be a mail address, got 'zelda'."),
        ((MAIL,), "Say why, with --reason"),
        ((MAIL, "--reason", f"{MAIL} wrote"), "The reason must not name the person"),
        ((MAIL, "--reason", f"{NAME} wrote"), "The reason must not name the person"),
    ],
)
def test_bad_words_are_refused(words, said):
    ended_order()
    before = dump()
    with pytest.raises(CommandError, match=said):
        call("erase", *words)
    assert dump() == before


def test_erasure_that_erases_nothing_writes_nothing():
    private_order()
    private_letter()
    before = dump()
    assert len(persons.erase(MAIL, **ANN).kept) == 2
    with pytest.raises(StateError, match="must not name the person"):
        persons.erase(MAIL, actor="operator:ann", reason="Zelda wrote")
    assert dump() == before


def test_erasure_that_finds_nothing_is_recorded():
    """It may follow one that was killed after it had erased, and before it was recorded."""
    assert persons.erase("nobody@example.org", **ANN) == persons.Erasure()

    assert Journal.objects.get(event="person_erased").detail["processes"] == 0


def test_export_has_all_data_of_person_and_is_journalled():
    order = ended_order()
    private_letter()

    found = json.loads(call("export", MAIL))

    first = found["processes"][0]
    assert first["input"]["customer"]["email"] == MAIL
    assert first["orders"][0]["customer_address"] == ADDRESS
    assert NAME in first["notes"][0]["text"]
    assert first["alerts"][0]["comment"] == NAME
    assert first["requests"][0]["reason"] == f"{NAME} rang"
    assert first["receivers"] == [{"owner": "", "correlation_id": ""}]
    assert [step["name"] for step in first["steps"]]
    assert MAIL in found["dead letters"][0]["body"]
    assert Journal.objects.filter(event="personal_shown", process=order.process).count() == 1
    exported = Journal.objects.get(event="person_exported")
    detail = {"processes": 2, "person": register.digest(MAIL)}
    assert (exported.actor, exported.detail) == (actor(), detail)
