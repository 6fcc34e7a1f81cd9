"""Every verb from a terminal: `manage.py sas process`, `order`, `flow` and `restored`."""

import getpass
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from orders.models import Order, Product
from tests.factories import ProcessFactory, StepFactory, placed
from tests.integration.conftest import only, reread
from tests.programs import said
from tests.toyflow import agents as toy
from tests.toyflow.faults import refuse
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.exceptions import Transient
from workers.models import Alert, Flow, Hold, Journal, Process, Step
from workers.store.db import dialect

run = said


def process(*words: object) -> str:
    return run("sas", "process", *words)


@pytest.fixture
def failed(wire) -> Process:
    toy.script["toy.beta"] = refuse
    found = submit("toy_undoable", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script.clear()
    return found


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (("resubmit",), "processed"),
        (("complete", "--step", "left", "--result", '{"id": 7}'), "processed"),
        (("skip", "--step", "left"), "processed"),
        (("cancel",), "cancelled"),
        (("compensate",), "compensated"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_what_stands_in_error_is_dealt_with(failed, wire, words, state):
    action, *options = words
    said = process(action, failed.pk, "--reason", "because", *options)
    wire.run_until_idle()

    assert reread(failed).state == state
    assert "Toy 1" in said
    reasons = Journal.objects.filter(process=failed, detail__reason="because")
    assert {row.actor.partition(":")[0] for row in reasons} == {"operator"}


def test_beginning_again_is_shown_first_and_then_done(failed, wire):
    rows = Journal.objects.count()
    asked = json.loads(process("begin-again", failed.pk, "--step", "top", "--dry-run", "--json"))
    assert asked["undo"] == ["undo_right", "undo_top"]
    assert asked["done"] is False
    assert Journal.objects.count() == rows

    process("begin-again", failed.pk, "--step", "top", "--reason", "wrong colour")
    wire.run_until_idle()
    assert reread(failed).state == "processed"


def test_a_process_is_paused_and_goes_on(wire):
    found = submit("toy_line", subject="Toy 1", input={})
    assert process("pause", found.pk, "--reason", "x") == "Toy 1: paused.\n"
    wire.run_until_idle()
    assert wire.states(found)["one"] == "pending"
    assert "Paused since" in process("show", found.pk)
    assert process("resume", found.pk, "--reason", "x") == "Toy 1: resumed.\n"
    wire.run_until_idle()
    assert wire.states(found)["two"] == "processed"


def test_a_step_is_retimed_and_tried_again(wire):
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "busy", retry_after=3000)

    toy.script["toy.alpha"] = fail
    found = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script.clear()
    process("retime", found.pk, "--step", "one", "--seconds", 60, "--reason", "slow")
    process("retry", found.pk, "--step", "one", "--reason", "up again")
    assert only(found, "one").timeout_seconds == 60
    wire.run_until_idle()
    assert wire.states(found)["one"] == "processed"


def test_a_step_is_postponed(wire):
    found = submit("toy_line", subject="Toy 1", input={})
    # Two days: a journal line tells the day of an instant that is not today's.
    until = timezone.now().replace(microsecond=0) + timedelta(days=2)
    words = ("postpone", found.pk, "--step", "one", "--reason", "stocktaking")
    said = process(*words, "--until", until.isoformat())
    assert said == f"Toy 1: one waits until {until:%Y-%m-%d %H:%M:%S} UTC.\n"
    assert only(found, "one").not_before == until
    assert f"→ {until:%Y-%m-%d %H:%M:%S} UTC" in process("show", found.pk)


@pytest.mark.parametrize("decline", [True, False])
def test_a_step_that_waits_is_answered(wire, decline):
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60, question="Has it arrived?")
    found = submit("toy_event", subject="Toy 1", input={})
    wire.run_until_idle()
    words = ["--decline" if decline else "--approve"]
    words += ["--result", '{"room": 4}']
    said = process("answer", found.pk, "--step", "arrives", "--reason", "seen", *words)
    yes = "Toy 1: arrives: “Approve”.\n"
    no = "Toy 1: arrives: “Decline”; what was done is being undone.\n"
    assert said == (no if decline else yes)
    wire.run_until_idle()
    found.refresh_from_db()
    assert found.state == ("compensated" if decline else "processed")
    if not decline:
        said_yes = {"approved": True, "by": getpass.getuser(), "comment": "seen", "room": 4}
        assert only(found, "arrives").result == said_yes


ANSWERS = {
    "accepted": (("--approve",), "Step arrives was accepted by .+ at 20"),
    "declined": (("--decline",), "Step arrives was declined by .+ at 20"),
}


@pytest.mark.parametrize("first", ANSWERS)
def test_another_answer_than_the_one_given_is_refused_and_the_same_is_not(wire, first):
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60, question="Has it arrived?")
    found = submit("toy_event", subject="Toy 1", input={})
    wire.run_until_idle()
    given, says = ANSWERS[first]
    words = ("answer", found.pk, "--step", "arrives", "--reason", "seen")
    process(*words, *given)
    wire.run_until_idle()
    before = list(Step.objects.values()), Journal.objects.count()
    assert "answered so before; nothing was changed" in process(*words, *given)
    other = ANSWERS["accepted" if first == "declined" else "declined"][0]
    with pytest.raises(CommandError, match=says):
        process(*words, *other)
    assert (list(Step.objects.values()), Journal.objects.count()) == before


def test_another_answer_than_the_one_kept_is_refused_and_the_same_is_not(wire):
    found = submit("toy_event", subject="Toy 1", input={})
    words = ("answer", found.pk, "--step", "arrives", "--reason", "seen")
    yes = (*words, "--approve")
    assert process(*yes) == "Toy 1: arrives: “Approve”, kept until it asks.\n"
    assert "arrives was answered so before" in process(*yes)
    with pytest.raises(CommandError, match=r"has another answer already, which .+ gave at 20"):
        process(*words, "--decline")
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60, question="Has it arrived?")
    wire.run_until_idle()
    with pytest.raises(CommandError, match=ANSWERS["accepted"][1]):
        process(*words, "--decline")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("processed", "Nobody was asked about step work: .+ ended it as processed at 20"),
        ("skipped", "Step work is skipped and takes no such answer"),
    ],
)
def test_terminal_refuses_answer_to_processed_or_skipped_step(wire, state, says):
    found = submit("toy_event", subject="Toy 1", input={})
    if state == "skipped":
        process("skip", found.pk, "--step", "work", "--reason", "not needed")
    wire.run_until_idle()
    for words in (("--approve",), ("--decline",)):
        with pytest.raises(CommandError, match=says):
            process("answer", found.pk, "--step", "work", "--reason", "no", *words)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("skip", "--step", "left"), "Say why"),
        (("skip", "--reason", "x"), "Say which step"),
        (("skip", "--step", "nothing", "--reason", "x"), "no step 'nothing'"),
        (("resume", "--dry-run"), "not paused"),
        (("answer", "--step", "left", "--reason", "x"), "--approve or --decline"),
        (
            ("answer", "--step", "left", "--reason", "x", "--approve", "--decline"),
            "not allowed with",
        ),
        (("complete", "--step", "left", "--result", "{", "--reason", "x"), "no JSON"),
        (("complete", "--step", "left", "--result", "[]", "--reason", "x"), "JSON object"),
        (("postpone", "--step", "left", "--reason", "x"), "with --until"),
        (("postpone", "--step", "left", "--reason", "x", "--until", "9"), "Write it as"),
        (("edit", "--set", "gift", "--reason", "x"), "PATH=VALUE"),
        (("edit", "--set", "gift=true", "--reason", "x"), "may not be changed"),
        (("retry", "--step", "left", "--reason", "x"), "not waiting"),
        (("resume", "--reason", "x"), "not paused"),
    ],
    ids=str,
)
def test_what_cannot_be_done_says_why_and_changes_nothing(failed, words, says):
    before = list(Step.objects.values()), Journal.objects.count()
    action, *options = words
    with pytest.raises(CommandError, match=says):
        process(action, failed.pk, *options)
    assert (list(Step.objects.values()), Journal.objects.count()) == before


def test_a_process_that_is_not_there(wire):
    with pytest.raises(CommandError, match="no process 4711"):
        process("show", 4711)


@pytest.fixture
def order(wire) -> Order:
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=10)
    return placed()


class TestCorrecting:
    def test_an_orders_columns_follow_its_input(self, order):
        said = run(
            "order", "edit", order.number, "--set", "customer.address=Street 2", "--reason", "typo"
        )
        assert said == f"Order {order.number}: changed: customer.address.\n"
        order.refresh_from_db()
        assert order.customer_address == "Street 2"
        assert order.process.input["customer"]["address"] == "Street 2"

    def test_whichever_door_the_change_comes_through(self, order):
        process(
            *("edit", order.process_id, "--set", "customer.address=Street 2", "--reason", "typo")
        )
        order.refresh_from_db()
        assert order.customer_address == "Street 2"

    @pytest.mark.parametrize("value", ["nobody", ""])
    def test_a_value_the_order_cannot_have_changes_neither(self, order, value):
        with pytest.raises(CommandError):
            run(
                *("order", "edit", order.number),
                *("--set", f"customer.email={value}", "--reason", "typo"),
            )
        order.refresh_from_db()
        assert order.customer_email == "ann@example.org"
        assert order.process.input["customer"]["email"] == "ann@example.org"
        assert not Journal.objects.filter(event="input_edited").exists()


def test_a_return_begins_for_what_is_processed_only(order):
    with pytest.raises(CommandError, match="can be cancelled"):
        run("order", "return", order.number, "--reason", "too big")
    with pytest.raises(CommandError, match="Say why"):
        run("order", "return", order.number)
    Process.objects.filter(pk=order.process_id).update(
        state="processed", finished_at=timezone.now()
    )
    told = json.loads(run("order", "return", order.number, "--reason", "x", "--json"))
    assert Process.objects.get(pk=told["return"]).workflow == "return"


class TestFlow:
    def test_it_is_set_shown_held_and_lifted(self):
        why = ("--reason", "sale")
        said = run("sas", "flow", "set", "toy.alpha", "--window", 7, "--rate", 2.5, *why)
        assert "window: 400 -> 7" in said
        run("sas", "flow", "set", "toy.alpha", "--breaker", "open", *why)
        run("sas", "flow", "hold", "step", "charge_payment", *why)
        shown = run("sas", "flow", "show")
        assert "2.5/s" in shown
        assert "breaker open by force" in shown
        assert "Held: step charge_payment" in shown
        run("sas", "flow", "lift", "step", "charge_payment", *why)
        run("sas", "flow", "set", "toy.alpha", "--rate", "none", "--breaker", "auto", *why)
        row = Flow.objects.get(agent="toy.alpha")
        assert (row.window, row.rate_per_second, row.forced) == (7, None, None)
        assert not Hold.objects.filter(ended_at=None).exists()
        assert json.loads(run("sas", "flow", "show", "--json"))["held"] == []

    def test_one_key_is_set_shown_and_given_back(self):
        why = ("--reason", "sale")
        said = run("sas", "flow", "set", "toy.keyed", "--key", 7, "--window", 0, *why)
        assert "toy.keyed window: None -> 0" in said
        assert "toy.keyed, key customer=7: window 0\n" in run("sas", "flow", "show")
        [row] = json.loads(run("sas", "flow", "show", "--json"))["keys"]
        assert (row["agent"], row["key"], row["window"]) == ("toy.keyed", "customer=7", 0)
        run("sas", "flow", "set", "toy.keyed", "--key", 7, "--window", "code", *why)
        assert json.loads(run("sas", "flow", "show", "--json"))["keys"] == []

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("toy.keyed", "--key", "7"), "Say what to set of a key"),
            (("toy.keyed", "--key", "7", "--breaker", "open"), "Say what to set of a key"),
            (("toy.keyed", "--key", "7", "--window", "x"), "--window is 'x'. Give a whole number"),
            (("toy.alpha", "--key", "7", "--window", "1"), "An agent with per_key must be named"),
        ],
    )
    def test_a_key_that_cannot_be_set_is_refused(self, words, says):
        with pytest.raises(CommandError, match=says):
            run("sas", "flow", "set", *words, "--reason", "sale")

    def test_it_tells_of_an_open_breaker_since_when_what_next_and_how_many_wait(self):
        since = timezone.now() - timedelta(minutes=5)
        until = timezone.now() + timedelta(seconds=30)
        assert "not reached since" not in run("sas", "flow", "show")
        Flow.objects.filter(agent="toy.alpha").update(opened_at=since, open_until=until)
        fault = {"kind": "unavailable", "code": "unreachable", "message": "no route", "at": "2026"}
        StepFactory(process=ProcessFactory(), agent="toy.alpha", pending=True, fault=fault)
        StepFactory(process=ProcessFactory(), agent="toy.beta", pending=True)
        shown = run("sas", "flow", "show")
        assert f"not reached since {since:%Y-%m-%d %H:%M:%S} UTC; probe in " in shown
        assert "steps waiting: 1" in shown
        assert "  last answer: no route\n" in shown
        rows = json.loads(run("sas", "flow", "show", "--json"))["agents"]
        waiting = {row["agent"]: row["waiting"] for row in rows}
        assert (waiting["toy.alpha"], waiting["toy.gamma"]) == (1, 0)

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("set", "toy.alpha", "--window", "7"), "Say why"),
            (("set", "toy.alpha", "--reason", "x"), "Say what to set"),
            (("set", "toy.alpha", "--rate", "fast", "--reason", "x"), "a number, or none"),
            (("set", "toy.omega", "--window", "7", "--reason", "x"), "no flow row"),
            (("lift", "everything", "--reason", "x"), "not held"),
            (("hold", "agent", "--reason", "x"), "Say which agent"),
            (("hold", "agent", "toy.omega", "--reason", "x"), "no agent 'toy.omega'"),
            (("hold", "step", "charge_paymnt", "--reason", "x"), "mean charge_payment"),
        ],
        ids=str,
    )
    def test_what_cannot_be_done_says_why(self, words, says):
        with pytest.raises(CommandError, match=says):
            run("sas", "flow", *words)
        assert not Journal.objects.exists()


class TestRestored:
    def test_open_processes_are_marked_and_operators_told(self, wire):
        found = submit("toy_line", subject="Toy 1", input={})
        said = run("sas", "restored", "--since", dialect.read_clock().isoformat())
        assert said.endswith("Done: 1 processes, 2 steps in doubt.\n")
        assert set(found.steps.values_list("is_in_doubt", flat=True)) == {True}
        assert Alert.objects.get().code == "restored"

    @pytest.mark.parametrize(
        ("since", "says"),
        [
            ("yesterday", "Write it as"),
            ("2026-13-45T00:00:00+00:00", "Write it as"),
            ("2026-01-01T00:00:00", "no time zone"),
            ("2001-01-01T00:00:00+00:00", "newest journal row"),
            ("2126-01-01T00:00:00+00:00", "still to come"),
        ],
    )
    def test_a_time_that_cannot_be_it_changes_nothing(self, wire, since, says):
        found = submit("toy_line", subject="Toy 1", input={})
        with pytest.raises(CommandError, match=says):
            run("sas", "restored", "--since", since)
        assert set(found.steps.values_list("is_in_doubt", flat=True)) == {False}
        assert not Alert.objects.exists()


def test_show_says_where_every_step_stands(wire):
    found = submit("toy_line", subject="Toy 1", input={})
    told = json.loads(process("show", found.pk, "--json"))
    assert [(step["name"], step["state"]) for step in told["steps"]] == [
        ("one", "pending"),
        ("two", "waiting"),
    ]
