"""Operators' verbs through the store: what moves, what is journalled, what is refused."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from tests.integration.conftest import NOW, begin, claim, only, reread, rows
from tests.toyflow import agents as toy
from tests.toyflow.faults import refuse
from workers import scheduler, supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.exceptions import StateError, Transient
from workers.models import Alert, Journal, Process, Step
from workers.ops import invariants
from workers.testing import pass_time
from workers.testing.agent_processes import CALL, REPLY


def last(process: Process) -> Journal:
    return Journal.objects.filter(process=process).latest("id")


def test_a_paused_process_is_not_claimed_and_goes_on_when_resumed(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    operations.pause(process.pk, actor="ann", reason="stocktaking")
    wire.run_until_idle()
    assert wire.states(process) == {"one": "pending", "two": "waiting"}
    assert (last(process).event, last(process).detail) == ("paused", {"reason": "stocktaking"})

    operations.resume(process.pk, actor="ann", reason="done")
    wire.run_until_idle()

    process.refresh_from_db()
    assert (process.state, process.paused_at) == ("processed", None)
    assert invariants.violations() == []


def test_what_is_in_flight_when_paused_ends_and_nothing_follows(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    begin(wire)
    operations.pause(process.pk, actor="ann", reason="")
    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "pending"}


@pytest.mark.parametrize("verb", [operations.pause, operations.resume])
def test_pausing_twice_and_resuming_what_runs_are_refused(verb, wire):
    process = submit("toy_line", subject="Toy 1", input={})
    if verb is operations.pause:
        operations.pause(process.pk, actor="ann", reason="")
    before = rows()

    with pytest.raises(StateError):
        verb(process.pk, actor="ann", reason="")

    assert rows() == before


def test_a_parked_step_is_tried_again_at_once(wire):
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "busy", retry_after=3000)

    toy.script["toy.alpha"] = fail
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script.clear()
    scheduler.advance()
    assert wire.states(process)["one"] == "pending"

    operations.retry(process.pk, "one", actor="ann", reason="it is up")
    assert only(process, "one").failure_count == 1
    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "processed"}


@pytest.mark.parametrize("name", ["two", "one"])
def test_what_does_not_wait_to_be_tried_again_is_not_hurried(name):
    process = submit("toy_line", subject="Toy 1", input={})
    before = rows()

    with pytest.raises(StateError):
        operations.retry(process.pk, name, actor="ann", reason="")

    assert rows() == before


class TestPostponing:
    def test_it_is_begun_then_and_not_before(self):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        later = NOW + timedelta(hours=2)
        operations.postpone(process.pk, "one", later, actor="ann", reason="stocktaking", now=NOW)

        assert claim(later - timedelta(seconds=1)) == []
        (taken,) = claim(later)
        assert taken.step_id == only(process, "one").pk
        entry = Journal.objects.get(event="postponed")
        assert (entry.actor, entry.detail["reason"]) == ("ann", "stocktaking")
        assert entry.detail["not_before"] == [NOW.isoformat(), later.isoformat()]

    def test_the_time_it_waits_is_not_its_own(self):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        began, due = NOW - timedelta(minutes=1), NOW + timedelta(minutes=5)
        Step.objects.filter(process=process, name="one").update(began_at=began, not_before=due)

        later = NOW + timedelta(hours=2)
        operations.postpone(process.pk, "one", later, actor="ann", reason="", now=NOW)

        step = only(process, "one")
        assert (step.began_at, step.not_before) == (began + (later - due), later)

    @pytest.mark.parametrize(
        ("name", "minutes", "says"),
        [
            ("two", 5, "only a pending step"),
            ("three", 5, "no step 'three'"),
            ("one", 0, f"waits until {NOW:%Y-%m-%d %H:%M:%S} UTC already"),
            ("one", -1, "a time from now to"),
            ("one", 366 * 24 * 60 + 1, "a time from now to"),
        ],
    )
    def test_what_cannot_be_postponed_says_why(self, name, minutes, says):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        before = rows()
        until = NOW + timedelta(minutes=minutes)
        with pytest.raises(StateError, match=says):
            operations.postpone(process.pk, name, until, actor="ann", reason="", now=NOW)
        assert rows() == before


class TestRetiming:
    """A shorter time acts at once; a longer one at the next claim."""

    @pytest.fixture
    def started(self) -> Step:
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        claim()
        return only(process, "one")

    def test_a_shorter_time_shortens_the_attempt(self, started):
        operations.retime(started.process_id, "one", 10, actor="ann", reason="", now=NOW)

        started.refresh_from_db()
        assert started.complete_by == NOW + timedelta(seconds=10)
        assert started.timeout_seconds == 10

    def test_a_time_that_is_up_by_now_ends_the_attempt_now(self, started):
        later = NOW + timedelta(seconds=20)
        operations.retime(started.process_id, "one", 5, actor="ann", reason="", now=later)

        started.refresh_from_db()
        assert started.complete_by == later

    def test_a_longer_time_leaves_the_attempt_as_it_is(self, started):
        operations.retime(started.process_id, "one", 300, actor="ann", reason="", now=NOW)

        started.refresh_from_db()
        assert started.complete_by == NOW + timedelta(seconds=30)
        assert started.timeout_seconds == 300

    def test_the_wait_for_a_callback_is_set_at_once(self, wire):
        toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
        process = submit("toy_event", subject="Toy 1", input={})
        wire.run_until_idle()
        operations.retime(process.pk, "arrives", 86_400, actor="ann", reason="holiday")

        arrives = only(process, "arrives")
        assert arrives.timeout_seconds == 30
        assert (arrives.complete_by - arrives.started_at).total_seconds() > 86_000

    @pytest.mark.fault("F40")
    def test_the_second_of_two_clicks_is_refused(self, started):
        operations.retime(started.process_id, "one", 300, actor="ann", reason="", now=NOW)
        before = rows()
        with pytest.raises(StateError, match="300 s already"):
            operations.retime(started.process_id, "one", 300, actor="bob", reason="", now=NOW)
        assert rows() == before

    def test_what_was_cancelled_has_no_time(self, wire):
        process = submit("toy_line", subject="Toy 1", input={})
        operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        before = rows()
        with pytest.raises(StateError, match="does not matter"):
            operations.retime(process.pk, "one", 60, actor="ann", reason="")
        assert rows() == before

    @pytest.mark.parametrize("seconds", [0, -1, 601])
    def test_a_time_out_of_bounds_is_refused(self, started, seconds):
        before = rows()
        with pytest.raises(StateError, match="must be 1 to 600 seconds"):
            operations.retime(started.process_id, "one", seconds, actor="ann", reason="")
        assert rows() == before


class TestByHand:
    """Completing and skipping a step."""

    @pytest.fixture
    def failed(self, wire) -> Process:
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        assert reread(process).state == "error"
        return process

    def test_a_completed_step_lets_the_process_go_on(self, failed, wire):
        operations.complete(failed.pk, "left", {"by": "phone"}, actor="ann", reason="phoned")
        wire.run_until_idle()

        assert reread(failed).state == "processed"
        assert only(failed, "left").result == {"by": "phone"}
        row = Journal.objects.get(process=failed, step__name="left", event="processed")
        assert row.actor == "ann"
        assert row.detail["reason"] == "phoned"
        assert invariants.violations() == []

    def test_what_was_done_by_hand_is_undone_with_the_rest(self, failed, wire):
        toy.script["toy.delta"] = refuse
        operations.complete(failed.pk, "left", {}, actor="ann", reason="phoned")
        wire.run_until_idle()

        # A person did it, so a person undoes it; the rest follows then.
        failed.refresh_from_db()
        assert (failed.state, only(failed, "undo_left").fault["code"]) == ("error", "done_by_hand")
        assert {name for name, _ in toy.undone} == {"undo_right"}
        operations.complete(failed.pk, "undo_left", {}, actor="ann", reason="phoned again")
        wire.run_until_idle()

        assert reread(failed).state == "compensated"
        assert {name for name, _ in toy.undone} == {"undo_top", "undo_right"}
        assert invariants.violations() == []

    @pytest.mark.parametrize("result", [{"a": "\x00"}, {"a": float("nan")}], ids=str)
    def test_a_result_that_cannot_be_stored_is_refused(self, failed, result):
        before = rows()
        with pytest.raises(StateError):
            operations.complete(failed.pk, "left", result, actor="ann", reason="")
        assert rows() == before

    def test_a_skipped_step_lets_the_process_go_on(self, failed, wire):
        operations.skip(failed.pk, "left", actor="ann", reason="not needed")
        wire.run_until_idle()

        assert reread(failed).state == "processed"
        assert only(failed, "left").state == "skipped"
        assert invariants.violations() == []

    def test_a_step_an_agent_is_at_work_on_is_left_alone(self):
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        claim()
        before = rows()

        for verb in (
            lambda: operations.skip(process.pk, "one", actor="ann", reason=""),
            lambda: operations.complete(process.pk, "one", {}, actor="ann", reason=""),
        ):
            with pytest.raises(StateError, match="at work"):
                verb()
        assert rows() == before

    @pytest.mark.fault("F40")
    def test_the_second_of_two_clicks_is_refused(self, failed):
        seen = failed.sequence
        operations.skip(failed.pk, "left", actor="ann", reason="", sequence=seen)
        before = rows()

        with pytest.raises(StateError, match="has moved"):
            operations.skip(failed.pk, "left", actor="bob", reason="", sequence=seen)
        with pytest.raises(StateError, match="cannot be skipped"):
            operations.skip(failed.pk, "left", actor="bob", reason="")
        assert rows() == before

    def test_a_stuck_undo_is_completed_by_hand_and_never_skipped(self, wire):
        toy.script["toy.gamma"] = refuse
        toy.script["toy.undoer"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        assert reread(process).state == "error"
        stuck = Step.objects.get(process=process, state="error", undoes__isnull=False)

        with pytest.raises(StateError, match="cannot be skipped"):
            operations.skip(process.pk, stuck.name, actor="ann", reason="")
        toy.script.clear()
        operations.complete(process.pk, stuck.name, {}, actor="ann", reason="by phone")
        wire.run_until_idle()

        assert reread(process).state == "compensated"
        assert invariants.violations() == []


class TestAsking:
    """``OnFailure.ASK``: the other branches go on, an operator decides on the step."""

    @pytest.fixture
    def asked(self, wire) -> Process:
        toy.script["toy.alpha"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        wire.run_until_idle()
        return process

    def test_the_other_branch_goes_on_and_an_operator_is_told(self, asked, wire):
        asked.refresh_from_db()
        assert wire.states(asked) == {
            "a": "error",
            "b": "processed",
            "b2": "processed",
            "both": "waiting",
        }
        assert asked.state == "error"
        assert Alert.objects.get().code == "decision_needed"
        assert invariants.violations() == []

    def test_what_another_step_needed_does_not_wait_for_the_asking_one(self, wire):
        toy.script["toy.alpha"] = toy.script["toy.beta"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script.clear()
        operations.complete(process.pk, "b", {}, actor="ann", reason="by phone")
        wire.run_until_idle()

        assert wire.states(process)["b2"] == "processed"
        assert reread(process).state == "error"

    def test_a_step_that_asks_is_resubmitted_while_the_others_run(self, wire):
        toy.script["toy.alpha"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        begin(wire)
        (call,) = [one for one in wire.of(CALL) if one.works[0].agent.name == "toy.alpha"]
        wire.deliver(call)
        wire.deliver_all(REPLY)
        process.refresh_from_db()
        assert (process.state, only(process, "a").state) == ("processing", "error")

        toy.script.clear()
        operations.resubmit(process.pk, actor="ann", reason="try again")
        wire.run_until_idle()

        assert reread(process).state == "processed"
        assert invariants.violations() == []


def test_a_verb_without_a_process_is_refused():
    with pytest.raises(StateError, match="no process"):
        operations.pause(4711, actor="ann", reason="")


@pytest.mark.fault("F40")
@pytest.mark.parametrize(
    ("act", "state", "says"),
    [
        (partial(operations.complete, step="top", result={}), "processed", ["beside"]),
        (partial(operations.skip, step="top"), "skipped", ["beside"]),
        (operations.cancel, "compensated", ["undone_again"]),
        (operations.pause, "pending", []),
    ],
)
def test_success_of_a_claim_that_is_over_is_told_where_it_contradicts_the_end(
    wire, act, state, says
):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    (late,) = wire.of(REPLY)
    wire.drop_all()
    pass_time(40)
    supervisor.sweep()
    act(process.pk, actor="ann", reason="")
    wire.run_until_idle()
    result = only(process, "top").result

    wire.deliver(late)

    top = only(process, "top")
    assert (top.state, top.result) == (state, result)
    assert [one.params["says"][0] for one in Alert.objects.filter(code="late_success")] == says
    assert Journal.objects.filter(event="stale_reply").count() == 1
    wire.run_until_idle()
    assert len(toy.calls["toy.undoer"]) == 2 * (says == ["undone_again"])
    assert invariants.violations() == []
