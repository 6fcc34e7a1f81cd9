"""Above a sum nothing that moves money or goods is one person's: each verb, each door."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from orders.incidents import totals
from orders.returning import accept_return
from tests.admin import toys
from tests.admin.conftest import every_row
from tests.factories import OrderFactory, ProcessFactory, StepFactory, put
from workers.client import answers, callbacks, operations
from workers.definitions import amounts
from workers.desk.models import BulkItem
from workers.desk.operate import jobs
from workers.exceptions import Refused, StateError
from workers.models import Journal, Process, Step, UndoRequest
from workers.privacy import erase
from workers.rules.approved_acts import Act
from workers.store.operate import edit_input, undo_requests
from workers.testing import Wire

ANN: dict[str, Any] = {"actor": "operator:ann", "reason": "because"}
BOB = "operator:bob"


@pytest.fixture(autouse=True)
def _all_are_worth_more(settings, monkeypatch) -> None:
    settings.SAS_TWO_PERSONS_ABOVE = "100"
    monkeypatch.setattr(amounts, "_appraisers", [lambda ids: dict.fromkeys(ids, Decimal("100.01"))])


def doubtful(wire: Wire) -> Process:
    """A process whose step in error may have had an effect that only a person can find out."""
    process = toys.failed(wire)
    put(
        Step.objects.filter(process=process, name="then"),
        effect="unsafe",
        may_have_effect=True,
        is_in_doubt=True,
    )
    return process


@dataclass(frozen=True)
class Way:
    """One way of moving something: by whom alone, from a terminal, and as a request."""

    make: Callable[[Wire], Process]
    alone: Callable[[int], object]
    terminal: tuple[str, ...]
    act: Act
    moves: list[str]
    #: The journal's event of what happens once it is approved.
    event: str
    more: dict[str, Any]


DECLINED = Refused("declined", "no")
ADDRESS = {"customer.address": "2 Low Road"}
WAYS = {
    "complete": Way(
        toys.failed,
        lambda pk: operations.complete(pk, "then", {"id": 7}, **ANN),
        ("complete", "--step", "then"),
        Act("complete", "then", {"result": {"id": 7}}),
        ["then"],
        "processed",
        {"result": '{"id": 7}'},
    ),
    "skip": Way(
        toys.failed,
        lambda pk: operations.skip(pk, "then", **ANN),
        ("skip", "--step", "then"),
        Act("skip", "then"),
        ["then"],
        "skipped",
        {},
    ),
    "approve": Way(
        toys.asked,
        lambda pk: answers.by_person(pk, "ask", {"approved": True}, actor=ANN["actor"]),
        ("answer", "--step", "ask", "--approve"),
        Act("answer", "ask", {"body": {"result": {"approved": True}}}),
        ["ask"],
        "processed",
        {"decision": "approve"},
    ),
    "decline": Way(
        toys.asked,
        lambda pk: answers.by_person(pk, "ask", DECLINED, actor=ANN["actor"]),
        ("answer", "--step", "ask", "--decline"),
        Act("answer", "ask", {"body": answers.body_of(DECLINED)}),
        ["ask"],
        "refused",
        {"decision": "decline"},
    ),
    "edit": Way(
        toys.editable,
        lambda pk: edit_input.edit_input(pk, ADDRESS, **ANN),
        ("edit", "--set", "customer.address=2 Low Road"),
        Act("input", "", {"changes": ADDRESS}),
        ["customer.address"],
        "input_edited",
        {"value_0": "2 Low Road", "value_1": "", "confirm": "yes"},
    ),
    "erase": Way(
        toys.of_ada,
        lambda pk: erase.erase(pk, **ANN),
        ("erase",),
        Act("erase"),
        ["customer"],
        "erased",
        {},
    ),
    "do again what may have happened": Way(
        lambda wire: toys.without_mail(wire, is_known=False),
        lambda pk: operations.redo(pk, "mail", may_happen_twice=True, **ANN),
        ("redo", "--step", "mail", "--may-happen-twice"),
        Act("redo", "mail"),
        ["mail"],
        "resubmitted",
        {"may_happen_twice": "on"},
    ),
    "call again on one's word": Way(
        doubtful,
        lambda pk: operations.resubmit(pk, nothing_happened=True, **ANN),
        ("resubmit", "--nothing-happened"),
        Act("resubmit"),
        ["then"],
        "resubmitted",
        {"nothing_happened": "on"},
    ),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@each_way
def test_one_operator_is_refused_each_verb_above_the_sum(wire, way):
    process = way.make(wire)
    before = every_row()
    with pytest.raises(StateError, match="this takes two persons"):
        way.alone(process.pk)
    assert every_row() == before


@each_way
def test_a_terminal_is_refused_with_the_same_reason(wire, way):
    process = way.make(wire)
    before = every_row()
    verb, *options = way.terminal
    with pytest.raises(CommandError, match="this takes two persons"):
        call_command("sas", "process", verb, str(process.pk), *options, "--reason", "because")
    assert every_row() == before


@each_way
def test_one_asks_and_another_approves(wire, way):
    process = way.make(wire)
    number = undo_requests.ask(process.pk, way.act, **ANN)
    assert UndoRequest.objects.get().undo == way.moves
    assert not Journal.objects.filter(event=way.event, actor=BOB).exists()

    decision = undo_requests.decide(number, is_approved=True, actor=BOB)

    assert (decision.refusal, decision.moves) == (None, way.moves)
    assert Journal.objects.filter(process=process, event=way.event, actor=BOB).exists()
    assert UndoRequest.objects.get().state == "approved"


@each_way
def test_a_declined_one_changes_nothing(wire, way):
    process = way.make(wire)
    number = undo_requests.ask(process.pk, way.act, **ANN)
    steps = list(Step.objects.values())
    rows = Process.objects.values().get()
    undo_requests.decide(number, is_approved=False, actor=BOB, reason="no")
    assert list(Step.objects.values()) == steps
    assert Process.objects.values().get() == rows


@each_way
def test_a_machine_is_asked_nothing(wire, way, settings):
    settings.SAS_TWO_PERSONS_ABOVE = ""
    process = way.make(wire)
    way.alone(process.pk)
    assert Journal.objects.filter(process=process, event=way.event).exists()


def test_an_event_of_the_application_is_no_person(wire):
    process = toys.asked(wire)
    outcome = callbacks.complete_step(process.pk, "ask", {}, actor="bank")
    assert outcome == "accepted"


def test_what_no_longer_may_be_edited_leaves_nothing_behind(wire):
    process = toys.editable(wire)
    number = undo_requests.ask(process.pk, WAYS["edit"].act, **ANN)
    # As by code that was deployed meanwhile: it moves something else than was asked for.
    UndoRequest.objects.update(undo=["gift"])
    before = Process.objects.get().input

    decision = undo_requests.decide(number, is_approved=True, actor=BOB)

    assert decision.refusal is not None
    assert Process.objects.get().input == before
    assert not Journal.objects.filter(event="input_edited").exists()


def test_an_answer_that_would_change_nothing_cannot_be_asked_for(wire):
    process = toys.failed(wire)
    with pytest.raises(StateError) as refusal:
        undo_requests.ask(process.pk, Act("answer", "first", WAYS["approve"].act.params), **ANN)
    assert refusal.value.code == "answer_unwanted"


def test_a_job_does_not_call_again_on_one_s_word(wire):
    process = doubtful(wire)
    sequence = Process.objects.get(pk=process.pk).sequence
    jobs.start(
        "resubmit", {process.pk: sequence}, **ANN, source={}, params={"nothing_happened": True}
    )
    assert BulkItem.objects.get().refusal["code"] == "two_persons"
    assert Process.objects.get(pk=process.pk).state == "error"


def test_a_resubmit_that_doubts_nothing_is_one_person_s(wire):
    process = toys.failed(wire)
    assert operations.resubmit(process.pk, **ANN) == ["then"]


def test_a_return_is_worth_what_it_gives_back(wire, monkeypatch):
    monkeypatch.setattr(amounts, "_appraisers", [totals])
    # To begin it moves nothing yet: both its answers ask.
    large, small = (begun_return(total) for total in ("162.00", "99.00"))
    wire.run_until_idle()
    for step in ("await_parcel", "inspect"):
        with pytest.raises(StateError, match=r"is worth 162\.00, more than 100\.00"):
            answers.by_person(large.pk, step, {}, actor="operator:ann")
    answers.by_person(small.pk, "await_parcel", {}, actor="operator:ann")


def begun_return(total: str) -> Process:
    process = ProcessFactory(state="processed")
    StepFactory(process=process, name="charge_payment", state="processed", result={})
    order = OrderFactory(process=process, total=Decimal(total))
    return accept_return(order, actor="operator:ann")
