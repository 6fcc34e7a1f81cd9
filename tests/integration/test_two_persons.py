"""Undoing what is worth more than a sum: one asks, another decides, and nobody does both."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import IntegrityError, transaction
from django.db.models import F

from tests.admin import toys
from tests.alerts import text_of
from tests.toyflow import agents as toy
from workers import cancel
from workers.client import operations
from workers.conf import BadSetting, Settings, sas
from workers.definitions import amounts
from workers.desk.models import BulkItem, Incident
from workers.desk.operate import jobs
from workers.desk.store.incidents import collect
from workers.desk.texts import alert_texts
from workers.exceptions import StateError
from workers.models import Alert, Journal, Process, Step, UndoRequest
from workers.rules.approved_acts import Act
from workers.rules.two_persons import GOOD_FOR
from workers.store.alert_resolution import resolve_ended
from workers.store.db import dialect
from workers.store.operate import undo_requests

ANN: dict[str, Any] = {"actor": "operator:ann", "reason": "sent twice"}
BOB = "operator:bob"


@pytest.fixture(autouse=True)
def worths(settings) -> Iterator[dict[int, Decimal]]:
    """What processes are worth, by id; two persons are needed above 1,000."""
    settings.SAS_TWO_PERSONS_ABOVE = "1000"
    known: dict[int, Decimal] = {}
    before = list(amounts._appraisers)
    amounts._appraisers[:] = [lambda ids: {one: known[one] for one in ids if one in known}]
    yield known
    amounts._appraisers[:] = before


@pytest.fixture
def rich(wire, worths) -> Process:
    """A process in error that is worth more; its first two steps are done."""
    process = toys.failed(wire)
    worths[process.pk] = Decimal("1000.01")
    return process


def ask(process: Process, verb: str = "cancel", step: str = "", **more: Any) -> int:
    return undo_requests.ask(process.pk, Act(verb, step), **{**ANN, **more})


def state_of(process: Process) -> str:
    return str(Process.objects.get(pk=process.pk).state)


def acts(process: Process) -> list[tuple[str, str]]:
    found = Journal.objects.filter(process=process, step=None, actor__startswith="operator:")
    return list(found.order_by("id").values_list("event", "actor"))


# ---------------------------------------------------------------- alone


@pytest.mark.parametrize("worth", ["1000.01", None])
def test_one_operator_cannot_undo_process_of_high_or_unknown_worth(rich, worths, worth):
    if worth is None:
        del worths[rich.pk]
    rows = list(Journal.objects.values())
    for verb in (
        lambda: operations.undo(rich.pk, outcome="cancelled", **ANN),
        lambda: operations.undo(rich.pk, outcome="compensated", **ANN),
        lambda: operations.begin_again(rich.pk, "first", **ANN),
        lambda: cancel(rich.pk, **ANN),
    ):
        with pytest.raises(StateError, match="takes two persons") as refusal:
            verb()
        assert refusal.value.code == ("two_persons" if worth else "two_persons_unknown")
    assert (state_of(rich), list(Journal.objects.values())) == ("error", rows)


def test_what_it_is_worth_cannot_be_asked_and_counts_as_too_much(rich):
    def broken(ids: Any) -> Any:
        raise RuntimeError("no prices")

    amounts._appraisers[:] = [broken]
    with pytest.raises(StateError, match="Nobody can say"):
        operations.undo(rich.pk, outcome="cancelled", **ANN)


@pytest.mark.parametrize("how", ["as much", "off", "submitter:acme", "scheduler@host"])
def test_one_is_enough(rich, worths, settings, how):
    if how == "as much":
        worths[rich.pk] = Decimal("1000.00")
    if how == "off":
        settings.SAS_TWO_PERSONS_ABOVE = ""
    actor = how if how[0] == "s" else "operator:ann"
    operations.undo(rich.pk, outcome="cancelled", actor=actor, reason="enough")
    assert state_of(rich) == "compensating"


def test_cancelling_process_without_effects_needs_no_second_person(wire, worths):
    process = toys.editable(wire)
    worths[process.pk] = Decimal(5000)
    operations.undo(process.pk, outcome="cancelled", **ANN)
    assert state_of(process) in ("compensating", "cancelled")


@pytest.mark.parametrize(
    ("given", "is_read_as"),
    [("", None), (None, None), ("0", Decimal(0)), ("99.50", Decimal("99.50")), (7, Decimal(7))],
)
def test_a_sum_is_read(settings: LazySettings, given: Any, is_read_as: Any) -> None:
    settings.SAS_TWO_PERSONS_ABOVE = given
    assert sas.two_persons_above == is_read_as


@pytest.mark.parametrize("given", ["much", "-1", "nan", "Infinity", True])
def test_invalid_two_persons_sum_refuses_every_undo(
    rich: Process, settings: LazySettings, given: Any
) -> None:
    settings.SAS_TWO_PERSONS_ABOVE = given
    with pytest.raises(BadSetting, match="SAS_TWO_PERSONS_ABOVE must be a sum of 0 or more, got"):
        operations.undo(rich.pk, outcome="cancelled", **ANN)
    assert state_of(rich) == "error"
    with pytest.raises(BadSetting):
        Settings.two_persons_above.read(given)


# ---------------------------------------------------------------- asking and deciding


def test_one_asks_and_another_approves(rich, wire):
    number = ask(rich)
    assert state_of(rich) == "error"
    row = UndoRequest.objects.get()
    assert (row.pk, row.verb, row.asked_by, row.reason, row.amount, row.state) == (
        number, "cancel", "operator:ann", "sent twice", Decimal("1000.01"), "waiting",
    )  # fmt: skip
    assert row.undo == ["unask", "undo_first"]

    found = operations.decide_approval(number, is_approved=True, actor=BOB, reason="I see")

    assert found.refusal is None
    assert found.moves == ["unask", "undo_first"]
    assert acts(rich) == [
        ("undo_asked", "operator:ann"),
        ("undo_approved", BOB),
        ("compensating", BOB),
    ]
    detail = Journal.objects.get(event="undo_approved").detail
    assert detail == {"request": number, "asked_by": "operator:ann", "reason": "I see"}
    assert Journal.objects.get(event="compensating").detail["reason"] == "sent twice"
    row.refresh_from_db()
    assert (row.state, row.decided_by, row.comment) == ("approved", BOB, "I see")
    toy.script.clear()
    wire.run_until_idle()
    assert state_of(rich) == "cancelled"


def test_request_for_approval_raises_alert_and_incident(rich, worths):
    ask(rich)

    alert = Alert.objects.get(code="undo_requested")
    assert alert.process_id == rich.pk
    assert text_of(alert) == (
        f"operator:ann requests approval of an act on {rich.subject}. Another person decides."
    )
    collect()
    incident = Incident.objects.get(code="undo_requested")
    assert alert_texts.title(incident.code, incident.params) == (
        "Processes of toy_answered need a second person's approval"
    )
    assert (incident.members, incident.money, incident.severity) == (1, worths[rich.pk], 2)
    assert "sent twice" not in str(incident.params)


@pytest.mark.parametrize("what", ["declined", "approved", "moved", "a day old"])
def test_decided_moved_or_old_request_resolves_its_alert(rich, what):
    now = dialect.read_clock()
    number = ask(rich)
    resolve_ended(now)
    assert Alert.objects.get(code="undo_requested").resolved_at is None
    if what in ("declined", "approved"):
        undo_requests.decide(number, is_approved=what == "approved", actor=BOB, reason="seen")
    if what == "moved":
        Process.objects.filter(pk=rich.pk).update(sequence=F("sequence") + 1)
    # It may have been asked a moment after this clock was read.
    is_old = what == "a day old"
    resolve_ended(now + GOOD_FOR + timedelta(minutes=1) if is_old else now)
    assert Alert.objects.get(code="undo_requested").resolved_at


def test_who_asks_again_is_told_of_as_the_same(rich):
    undo_requests.decide(ask(rich), is_approved=False, actor=BOB, reason="not yet")
    ask(rich, actor="operator:cleo")
    alert = Alert.objects.get(code="undo_requested")
    assert (alert.times, alert.params["actor"]) == (2, "operator:cleo")


def test_a_request_that_is_refused_tells_nobody(rich):
    ask(rich)
    rows = list(Alert.objects.values())
    with pytest.raises(StateError):
        ask(rich)
    assert list(Alert.objects.values()) == rows


def test_each_verb_goes_the_same_way(rich):
    number = ask(rich, "begin_again", step="ask")
    undo_requests.decide(number, is_approved=True, actor=BOB)
    assert Process.objects.get(pk=rich.pk).renews == ["ask", "then"]


@pytest.mark.parametrize("is_approved", [True, False])
def test_operator_cannot_decide_own_request(rich, is_approved):
    number = ask(rich)
    with pytest.raises(StateError, match="somebody else decides"):
        undo_requests.decide(number, is_approved=is_approved, actor="operator:ann")
    assert (state_of(rich), UndoRequest.objects.get().state) == ("error", "waiting")


def test_a_declined_one_changes_nothing_and_one_may_ask_again(rich):
    found = undo_requests.decide(ask(rich), is_approved=False, actor=BOB, reason="not again")
    assert found == undo_requests.Decision()
    assert state_of(rich) == "error"
    assert acts(rich) == [("undo_asked", "operator:ann"), ("undo_declined", BOB)]
    assert Journal.objects.get(event="undo_declined").detail["reason"] == "not again"
    ask(rich)


def test_of_two_decisions_one_counts(rich):
    number = ask(rich)
    undo_requests.decide(number, is_approved=True, actor=BOB)
    rows = Journal.objects.count()
    for is_approved in (True, False):
        with pytest.raises(StateError, match="decided by operator:bob already"):
            undo_requests.decide(number, is_approved=is_approved, actor="operator:eve")
    assert Journal.objects.count() == rows


def test_one_waits_at_a_time(rich):
    number = ask(rich)
    with pytest.raises(StateError, match=f"asked for that already: request {number} waits"):
        ask(rich, actor="operator:eve")
    with pytest.raises(IntegrityError), transaction.atomic():
        UndoRequest.objects.create(
            process=rich, verb="cancel", undo=[], sequence=0, asked_by="x", reason="x",
            asked_at=dialect.read_clock(),
        )  # fmt: skip


def test_one_that_does_not_exist_is_told():
    with pytest.raises(StateError, match="no request 77"):
        undo_requests.decide(77, is_approved=True, actor=BOB)


# ---------------------------------------------------------------- too late


def move(process: Process) -> None:
    operations.resubmit(process.pk, actor="operator:eve", reason="try again")


def test_a_process_that_has_moved_is_left_alone(rich):
    number = ask(rich)
    move(rich)
    found = undo_requests.decide(number, is_approved=True, actor=BOB)
    assert found.refusal is not None
    assert found.refusal.code == "undo_moved"
    assert state_of(rich) == "processing"
    row = UndoRequest.objects.get()
    assert (row.state, row.decided_by) == ("declined", BOB)
    assert row.refusal["code"] == "undo_moved"
    assert ("undo_approved", BOB) not in acts(rich)
    assert Journal.objects.get(event="undo_declined").detail["code"] == "undo_moved"


def test_approval_is_refused_if_undo_plan_has_changed(rich):
    number = ask(rich)
    # As after an effect that a step had or lost.
    UndoRequest.objects.update(undo=["undo_first"])
    found = undo_requests.decide(number, is_approved=True, actor=BOB)
    assert found.refusal is not None
    assert state_of(rich) == "error"


@pytest.mark.parametrize(
    ("verb", "step", "code"),
    [("skip", "two", "undo_moved"), ("complete", "two", "undo_moved"), ("cancel", "", None)],
)
def test_approval_is_refused_after_a_further_attempt_of_its_step(wire, worths, verb, step, code):
    process = toys.resting(wire)
    worths[process.pk] = Decimal("2000")
    given = {"result": {}} if verb == "complete" else {}
    number = undo_requests.ask(process.pk, Act(verb, step, given), **ANN)
    # Another attempt is made, and fails: no submitter sees a number of it.
    Step.objects.filter(process=process, name="two").update(not_before=dialect.read_clock())
    wire.run_until_idle()
    assert Process.objects.get(pk=process.pk).sequence == UndoRequest.objects.get().sequence

    decision = undo_requests.decide(number, is_approved=True, actor=BOB)

    # What a whole undo moves is compared by its plan.
    assert (decision.refusal and decision.refusal.code) == code


def test_a_request_is_good_for_a_day(rich):
    number = ask(rich)
    assert timedelta(hours=24) == GOOD_FOR
    later = dialect.read_clock() + GOOD_FOR + timedelta(seconds=1)
    found = undo_requests.decide(number, is_approved=True, actor=BOB, now=later)
    assert found.refusal is not None
    assert found.refusal.code == "undo_expired"
    assert state_of(rich) == "error"


@pytest.mark.parametrize("why", ["moved", "expired"])
def test_one_that_is_over_gives_way(rich, why):
    first = ask(rich)
    now = None
    if why == "moved":
        move(rich)
    else:
        now = dialect.read_clock() + GOOD_FOR + timedelta(seconds=1)
    second = ask(rich, actor=BOB, now=now)
    assert UndoRequest.objects.get(pk=first).refusal["code"] == f"undo_{why}"
    assert UndoRequest.objects.get(pk=second).state == "waiting"


def test_what_cannot_be_undone_cannot_be_asked_for(rich):
    Process.objects.filter(pk=rich.pk).update(no_return=["first"])
    with pytest.raises(StateError, match="past its point of no return"):
        ask(rich)
    with pytest.raises(StateError, match="has moved since the page was opened"):
        ask(rich, sequence=rich.sequence - 1)
    assert not UndoRequest.objects.exists()


# ---------------------------------------------------------------- jobs


def test_a_job_refuses_them_with_the_reason(rich, wire, worths):
    poor = toys.failed(wire, subject="Toy 2")
    worths[poor.pk] = Decimal(10)
    seen = {one.pk: Process.objects.get(pk=one.pk).sequence for one in (rich, poor)}
    job = jobs.start("cancel", seen, actor="operator:ann", reason="recall", source={})
    assert (state_of(rich), state_of(poor)) == ("error", "compensating")
    refusals = dict(BulkItem.objects.filter(job=job).values_list("process", "refusal"))
    assert refusals[poor.pk] is None
    assert refusals[rich.pk] == {
        "code": "two_persons",
        "params": {"subject": rich.subject, "amount": "1000.01", "limit": "1000.00"},
    }
