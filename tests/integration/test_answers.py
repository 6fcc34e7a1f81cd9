"""Deferred replies, callbacks, events and progress, through the real tasks and store."""

from datetime import timedelta

import pytest
from django.db import transaction

from tests.alerts import text_of
from tests.integration.conftest import begin, only, replies_on, reread
from tests.toyflow import agents as toy
from workers.client import callbacks, operations
from workers.client.submission import submit
from workers.conf import sas
from workers.definitions.agent import Call, Deferred
from workers.exceptions import BadToken, MessageError, Permanent, Refused, StateError, Transient
from workers.models import Alert, Journal, Process, Step
from workers.ops import invariants
from workers.rules.external_answers import Outcome
from workers.store.db import dialect
from workers.store.flow import flow_control
from workers.supervisor import sweep
from workers.testing import pass_time
from workers.testing.agent_processes import CALL, REPLY

#: The token that the agent's last call handed out.
tokens: list[str] = []


def defer(call: Call) -> Deferred:
    tokens.append(call.callback_token)
    return Deferred(within_seconds=7200, question="is it paid?", escalate_after_seconds=600)


@pytest.fixture
def waiting(wire) -> Process:
    """A process whose second step waits for a callback."""
    tokens.clear()
    toy.script["toy.alpha"] = defer
    process = submit("toy_answered", subject="Toy 1", input={})
    wire.run_until_idle()
    return process


def events(process: Process, step: str) -> list[str]:
    rows = Journal.objects.filter(process=process, step__name=step).order_by("id")
    return list(rows.values_list("event", flat=True))


def test_a_deferred_step_waits_and_holds_no_room(waiting):
    ask = only(waiting, "ask")

    assert ask.state == "processing"
    assert ask.deferral["question"] == "is it paid?"
    assert ask.complete_by - ask.escalate_at == timedelta(seconds=6600)
    assert events(waiting, "ask") == ["ready", "claimed", "deferred"] or events(waiting, "ask") == [
        "claimed",
        "deferred",
    ]
    assert waiting_room("toy.alpha") == sas.window
    assert invariants.violations() == []


def waiting_room(agent: str) -> int:

    with transaction.atomic():
        return flow_control.LockedFlow({agent}, dialect.read_clock()).room()[agent]


def test_the_callback_ends_the_step_and_the_process_goes_on(waiting, wire):
    assert callbacks.complete(tokens[0], {"paid": True}) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert only(waiting, "ask").result == {"paid": True}
    assert wire.states(waiting) == {"first": "processed", "ask": "processed", "then": "processed"}
    assert invariants.violations() == []


def test_a_repeated_callback_has_no_effect(waiting, wire):
    callbacks.complete(tokens[0], {"paid": True})
    before = list(Step.objects.values())
    rows = Journal.objects.count()

    assert callbacks.complete(tokens[0], {"paid": False}) == Outcome.REPEATED
    assert callbacks.fail(tokens[0], Refused("no", "no")) == Outcome.REPEATED

    assert list(Step.objects.values()) == before
    assert Journal.objects.count() == rows


def test_a_callback_that_beats_the_deferral_ends_the_step(wire):
    def answered_before_it_returns(call: Call) -> Deferred:
        assert callbacks.complete(call.callback_token, {"quick": True}) == Outcome.KEPT
        return Deferred(within_seconds=60)

    # In the main thread, for the test's transaction is not another thread's.
    toy.Alpha.is_serial = True
    toy.script["toy.alpha"] = answered_before_it_returns
    try:
        process = submit("toy_answered", subject="Toy 1", input={})
        wire.run_until_idle()
    finally:
        del toy.Alpha.is_serial

    assert only(process, "ask").result == {"quick": True}
    assert events(process, "ask")[-2:] == ["answer_kept", "processed"]
    assert wire.states(process)["then"] == "processed"


def test_a_callback_counts_whatever_the_claim_is_by_then(waiting, wire):
    pass_time(7300)
    sweep()
    assert only(waiting, "ask").state == "pending"
    assert only(waiting, "ask").fault["code"] == "unanswered"

    assert callbacks.complete(tokens[0], {"late": True}) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert wire.states(waiting) == {"first": "processed", "ask": "processed", "then": "processed"}
    assert invariants.violations() == []


def test_a_callback_takes_a_step_out_of_error(waiting, wire):
    for _ in range(3):
        pass_time(8000)
        sweep()
        pass_time(400)
        wire.run_until_idle()
    waiting.refresh_from_db()
    assert (waiting.state, only(waiting, "ask").state) == ("error", "error")

    assert callbacks.complete(tokens[0], {}) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert reread(waiting).state == "processed"
    assert invariants.violations() == []


def test_unanswered_attempts_count_and_the_key_stays(waiting, wire):
    pass_time(7300)
    sweep()
    pass_time(400)
    wire.run_until_idle()

    ask = only(waiting, "ask")
    assert (ask.state, ask.attempt, ask.failure_count) == ("processing", 2, 1)
    assert tokens[0] == tokens[1]


def test_a_refusal_by_callback_undoes_the_process(waiting, wire):
    assert callbacks.fail(tokens[0], Refused("declined", "card declined")) == Outcome.ACCEPTED
    wire.run_until_idle()

    assert reread(waiting).state == "compensated"
    assert [name for name, _ in toy.undone] == ["undo_first"]
    assert Alert.objects.count() == 0
    assert invariants.violations() == []


def test_a_permanent_callback_stops_the_process(waiting, wire):
    callbacks.fail(tokens[0], Permanent("gone", "no such account"))
    wire.run_until_idle()

    assert reread(waiting).state == "error"


def test_cancelling_does_not_wait_for_a_callback(waiting, wire):
    operations.undo(waiting.pk, outcome="cancelled", actor="ann", reason="changed my mind")
    wire.run_until_idle()

    assert reread(waiting).state == "cancelled"
    assert [name for name, _ in toy.undone] == ["unask", "undo_first"]
    assert callbacks.fail(tokens[0], Refused("no", "no")) == Outcome.REPEATED
    assert invariants.violations() == []


def test_a_success_after_its_undo_is_undone_once_more(waiting, wire):
    operations.undo(waiting.pk, outcome="cancelled", actor="ann", reason="changed my mind")
    wire.run_until_idle()
    late = {"charge": "ch_late"}

    assert callbacks.complete(tokens[0], late) == Outcome.IGNORED
    waiting.refresh_from_db()
    assert (waiting.state, waiting.finished_at) == ("compensating", None)
    assert callbacks.complete(tokens[0], late) == Outcome.REPEATED
    for _ in range(2):
        wire.run_until_idle()

    assert reread(waiting).state == "cancelled"
    asked = [key for name, key in toy.undone if name == "unask"]
    assert (len(asked), len(set(asked))) == (2, 1)
    kept = Journal.objects.get(process=waiting, event="late_success")
    assert kept.detail == {"step": "ask", "answer": {"result": late}}
    assert Alert.objects.get().code == "late_success"
    assert callbacks.complete(tokens[0], late) == Outcome.REPEATED
    assert invariants.violations() == []


def test_an_undo_that_failed_and_is_asked_again_has_its_attempts_back(waiting, wire):
    busy = [Transient("http_500", "busy")]

    def once_busy(call: Call) -> None:
        if busy:
            raise busy.pop()

    toy.script["toy.undoer"] = once_busy
    operations.undo(waiting.pk, outcome="cancelled", actor="ann", reason="changed my mind")
    wire.run_until_idle()
    pass_time(60)
    wire.run_until_idle()
    assert "failed" in events(waiting, "unask")
    assert reread(waiting).state == "cancelled"

    callbacks.complete(tokens[0], {"charge": "ch_late"})

    unask = only(waiting, "unask")
    assert (unask.state, unask.failure_count) == ("pending", 0)
    assert invariants.violations() == []


def test_a_callback_after_the_cancellation_ends_nothing(waiting):
    operations.undo(waiting.pk, outcome="cancelled", actor="ann", reason="changed my mind")
    before = {step.name: step.state for step in waiting.steps.all()}

    assert callbacks.complete(tokens[0], {}) == Outcome.IGNORED

    assert {step.name: step.state for step in waiting.steps.all()} == before
    # Its undo is yet to begin, and does away with it.
    assert events(waiting, "ask")[-1] == "late_success"
    assert not Alert.objects.exists()


def test_an_overdue_answer_is_escalated_once(waiting):
    sweep()
    assert Alert.objects.count() == 0

    pass_time(601)
    sweep()
    sweep()

    alert = Alert.objects.get()
    assert (alert.code, alert.times) == ("answer_overdue", 1)
    assert "is it paid?" in text_of(alert)
    assert only(waiting, "ask").state == "processing"


def test_a_deferral_that_comes_twice_is_stale(wire):
    toy.script["toy.alpha"] = defer
    process = submit("toy_answered", subject="Toy 1", input={})
    begin(wire)
    for task in (CALL, REPLY, CALL):
        wire.deliver_all(task)
    (reply,) = wire.of(REPLY)
    wire.deliver(reply)
    before = list(Step.objects.values())
    wire.deliver(reply)

    assert list(Step.objects.values()) == before
    assert only(process, "ask").failure_count == 0


def test_a_fault_that_comes_twice_is_not_the_next_agents(wire):
    tokens.clear()
    toy.script["toy.alpha"] = toy.script["toy.beta"] = defer
    process = submit("toy_fallback_undo", subject="Toy 1", input={})
    wire.run_until_idle()
    gone = Permanent("gone", "not here", no_effect=True)
    assert callbacks.fail(tokens[0], gone) == Outcome.ACCEPTED
    with pytest.raises(BadToken, match="over"):
        callbacks.fail(tokens[0], gone)
    wire.run_until_idle()
    with pytest.raises(BadToken, match="over"):
        callbacks.fail(tokens[0], gone)

    ship = only(process, "ship")
    assert (ship.state, ship.agent) == ("processing", "toy.beta")
    assert tokens[0] != tokens[1]
    callbacks.complete(tokens[1], {})
    operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
    wire.run_until_idle()
    assert reread(process).state == "cancelled"
    assert toy.calls["toy.other_undoer"] == [f"{ship.idempotency_key}:undo"]


def test_an_old_fault_is_not_kept_for_the_next_attempt(wire):
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
    process = submit("toy_event", subject="Toy 1", input={})
    wire.run_until_idle()
    busy = Transient("busy", "later")
    assert callbacks.fail_step(process.pk, "arrives", busy, actor="door") == Outcome.ACCEPTED
    assert callbacks.fail_step(process.pk, "arrives", busy, actor="door") == Outcome.IGNORED
    assert only(process, "arrives").early is None


def test_a_result_after_a_fault_is_undone_with_the_rest(waiting, wire):
    callbacks.fail(tokens[0], Permanent("gone", "no such account"))
    assert callbacks.complete(tokens[0], {"paid": True}) == Outcome.ACCEPTED
    plan = operations.undo(waiting.pk, outcome="cancelled", actor="buyer", reason="x")
    assert "unask" in [planned.name for planned in plan.undo]


def test_a_second_fault_of_what_stands_in_error_changes_nothing(waiting):
    callbacks.fail(tokens[0], Permanent("gone", "no such account"))
    before = list(Step.objects.values())
    assert callbacks.fail(tokens[0], Permanent("other", "other")) == Outcome.IGNORED
    assert list(Step.objects.values()) == before


def test_a_token_is_over_once_its_step_began_again_behind_ones_back(waiting, monkeypatch):
    real = callbacks.step_of

    def step_of(token: str) -> tuple[str, int, str]:
        found = real(token)
        Step.objects.filter(name="ask").update(idempotency_key=found[0][:-1] + "2")
        return found

    monkeypatch.setattr(callbacks, "step_of", step_of)
    with pytest.raises(BadToken, match="over"):
        callbacks.fail(tokens[0], Permanent("gone", "no such account"))
    assert callbacks.complete(tokens[0], {}) == Outcome.IGNORED
    assert only(waiting, "ask").state == "processing"
    assert Alert.objects.get().code == "late_success"


def test_progress_is_noted_while_it_is_waited_for(waiting):
    assert callbacks.progress(tokens[0], {"percent": 40}) is True
    assert only(waiting, "ask").deferral["progress"] == {"percent": 40}

    callbacks.complete(tokens[0], {})
    assert callbacks.progress(tokens[0], {"percent": 50}) is False


def test_an_event_that_comes_early_is_kept(wire):
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
    process = submit("toy_event", subject="Toy 1", input={})

    first = callbacks.complete_step(process.pk, "arrives", {"n": 1}, actor="door")
    second = callbacks.complete_step(process.pk, "arrives", {"n": 2}, actor="door")
    assert (first, second) == (Outcome.KEPT, Outcome.REPEATED)
    assert wire.states(process) == {"work": "pending", "arrives": "waiting"}

    wire.run_until_idle()
    assert only(process, "arrives").result == {"n": 1}
    assert wire.states(process) == {"work": "processed", "arrives": "processed"}
    assert invariants.violations() == []


def test_an_early_refusal_is_kept_too(wire):
    toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
    process = submit("toy_event", subject="Toy 1", input={})

    callbacks.fail_step(process.pk, "arrives", Refused("no", "sent back"), actor="door")
    wire.run_until_idle()

    assert reread(process).state == "compensated"


def test_a_transient_callback_counts_as_a_failure_of_the_attempt(waiting):
    callbacks.fail(tokens[0], Transient("busy", "try again"))
    ask = only(waiting, "ask")
    assert (ask.state, ask.failure_count) == ("pending", 1)

    assert callbacks.fail(tokens[0], Transient("busy", "try again")) == Outcome.IGNORED
    assert only(waiting, "ask").failure_count == 1


@pytest.mark.fault("F41")
@pytest.mark.parametrize(
    "spoil", [lambda token: token[:-1] + "x", lambda token: "x" + token, lambda token: ""]
)
def test_damaged_callback_token_is_refused(waiting, spoil):
    before = list(Step.objects.values())

    with pytest.raises(BadToken, match="damaged"):
        callbacks.complete(spoil(tokens[0]), {})

    assert list(Step.objects.values()) == before


def test_a_result_that_cannot_be_stored_is_refused(waiting):
    with pytest.raises(MessageError):
        callbacks.complete(tokens[0], {"bad": float("nan")})

    assert only(waiting, "ask").state == "processing"


def test_an_event_for_a_step_that_is_not_there_is_refused(waiting):
    with pytest.raises(StateError, match="no step 'paid'"):
        callbacks.complete_step(waiting.pk, "paid", {}, actor="door")


def test_a_deferral_on_the_way_back_is_not_waited_for(wire):
    toy.script["toy.alpha"] = defer
    process = submit("toy_answered", subject="Toy 1", input={})
    begin(wire)
    for task in (CALL, REPLY, CALL):
        wire.deliver_all(task)
    assert [reply.step_id for reply in replies_on(wire)] == [only(process, "ask").pk]
    operations.undo(process.pk, outcome="cancelled", actor="ann", reason="no")
    wire.run_until_idle()

    assert reread(process).state == "cancelled"
    assert invariants.violations() == []
