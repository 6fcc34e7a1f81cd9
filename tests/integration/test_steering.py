"""Operators' verbs through the store: what moves, what is journalled, what is refused."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from tests.integration.conftest import NOW, claim, only
from tests.toyflow import agents as toy
from workers import scheduler
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.exceptions import Permanent, StateError, Transient
from workers.models import Alert, Journal, Process, Step
from workers.operate import invariants
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps
from workers.store.operate import commands
from workers.store.settle import settle_replies
from workers.testing import Wire, pass_time

pytestmark = pytest.mark.django_db


def refuse(call: Call) -> dict[str, Any]:
    raise Permanent("no", "not like this")


def rows() -> list[Any]:
    """Return all that is in the store, to show that nothing changed."""
    return [list(model.objects.order_by("pk").values()) for model in (Process, Step, Journal)]


def last(process: Process) -> Journal:
    return Journal.objects.filter(process=process).latest("id")


def test_a_paused_process_is_not_claimed_and_goes_on_when_resumed(wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={})
    commands.pause(process.pk, actor="ann", reason="stocktaking")
    wire.run_until_idle()
    assert wire.states(process) == {"one": "pending", "two": "waiting"}
    assert (last(process).event, last(process).detail) == ("paused", {"reason": "stocktaking"})

    commands.resume(process.pk, actor="ann", reason="done")
    wire.run_until_idle()

    process.refresh_from_db()
    assert (process.state, process.paused_at) == ("processed", None)
    assert invariants.violations() == []


def test_what_is_in_flight_when_paused_ends_and_nothing_follows(wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()
    commands.pause(process.pk, actor="ann", reason="")
    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "pending"}


@pytest.mark.parametrize("verb", [commands.pause, commands.resume])
def test_pausing_twice_and_resuming_what_runs_are_refused(verb: Any, wire: Wire) -> None:
    process = submit("toy_line", subject="Toy 1", input={})
    if verb is commands.pause:
        commands.pause(process.pk, actor="ann", reason="")
    before = rows()

    with pytest.raises(StateError):
        verb(process.pk, actor="ann", reason="")

    assert rows() == before


def test_a_parked_step_is_tried_again_at_once(wire: Wire) -> None:
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "busy", retry_after=3000)

    toy.script["toy.alpha"] = fail
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    toy.script.clear()
    scheduler.advance()
    assert wire.states(process)["one"] == "pending"

    commands.retry_now(process.pk, "one", actor="ann", reason="it is up")
    assert only(process, "one").failure_count == 1
    wire.run_until_idle()

    assert wire.states(process) == {"one": "processed", "two": "processed"}


@pytest.mark.parametrize("name", ["two", "one"])
def test_what_does_not_wait_to_be_tried_again_is_not_hurried(name: str) -> None:
    process = submit("toy_line", subject="Toy 1", input={})
    before = rows()

    with pytest.raises(StateError):
        commands.retry_now(process.pk, name, actor="ann", reason="")

    assert rows() == before


class TestRetiming:
    """A shorter time acts at once; a longer one at the next claim, or by claiming anew."""

    @pytest.fixture
    def started(self) -> Step:
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        taken = claim()
        start(taken)
        return only(process, "one")

    def test_a_shorter_time_shortens_the_attempt(self, started: Step) -> None:
        commands.retime(started.process_id, "one", 10, actor="ann", reason="", now=NOW)

        started.refresh_from_db()
        assert started.complete_by == NOW + timedelta(seconds=10)
        assert started.timeout_seconds == 10

    def test_a_time_that_is_up_by_now_ends_the_attempt_now(self, started: Step) -> None:
        later = NOW + timedelta(seconds=20)
        commands.retime(started.process_id, "one", 5, actor="ann", reason="", now=later)

        started.refresh_from_db()
        assert started.complete_by == later

    def test_a_longer_time_leaves_the_attempt_as_it_is(self, started: Step) -> None:
        commands.retime(started.process_id, "one", 300, actor="ann", reason="", now=NOW)

        started.refresh_from_db()
        assert started.complete_by == NOW + timedelta(seconds=30)
        assert started.timeout_seconds == 300

    def test_what_nobody_has_started_is_claimed_anew(self) -> None:
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        (old,) = claim()
        commands.retime(process.pk, "one", 300, actor="ann", reason="", now=NOW)
        (new,) = claim()

        assert start([old]) == set()
        assert start([new], 300) == {new.step_id}
        assert only(process, "one").complete_by == NOW + timedelta(seconds=300)
        assert only(process, "one").failure_count == 0

    def test_the_wait_for_a_callback_is_set_at_once(self, wire: Wire) -> None:
        toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
        process = submit("toy_event", subject="Toy 1", input={})
        wire.run_until_idle()
        commands.retime(process.pk, "arrives", 86_400, actor="ann", reason="holiday")

        arrives = only(process, "arrives")
        assert arrives.timeout_seconds == 30
        assert (arrives.complete_by - arrives.started_at).total_seconds() > 86_000

    @pytest.mark.fault("F40")
    def test_the_second_of_two_clicks_is_refused(self, started: Step) -> None:
        commands.retime(started.process_id, "one", 300, actor="ann", reason="", now=NOW)
        before = rows()
        with pytest.raises(StateError, match="300 s already"):
            commands.retime(started.process_id, "one", 300, actor="bob", reason="", now=NOW)
        assert rows() == before

    def test_what_was_cancelled_has_no_time(self, wire: Wire) -> None:
        process = submit("toy_line", subject="Toy 1", input={})
        commands.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        before = rows()
        with pytest.raises(StateError, match="does not matter"):
            commands.retime(process.pk, "one", 60, actor="ann", reason="")
        assert rows() == before

    @pytest.mark.parametrize("seconds", [0, -1, 601])
    def test_a_time_out_of_bounds_is_refused(self, started: Step, seconds: int) -> None:
        before = rows()
        with pytest.raises(StateError, match="must be 1 to 600 seconds"):
            commands.retime(started.process_id, "one", seconds, actor="ann", reason="")
        assert rows() == before


def start(taken: list[claim_steps.Claim], seconds: int = 30) -> set[int]:
    return claim_steps.start(
        [(one.step_id, one.claim_id) for one in taken],
        timeout_seconds=seconds,
        worker="agent@test",
        delivery=uuid4(),
        now=NOW,
    )


class TestByHand:
    """Completing and skipping a step."""

    @pytest.fixture
    def failed(self, wire: Wire) -> Process:
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        process.refresh_from_db()
        assert process.state == "error"
        return process

    def test_a_completed_step_lets_the_process_go_on(self, failed: Process, wire: Wire) -> None:
        commands.complete(failed.pk, "left", {"by": "phone"}, actor="ann", reason="phoned")
        wire.run_until_idle()

        failed.refresh_from_db()
        assert failed.state == "processed"
        assert only(failed, "left").result == {"by": "phone"}
        row = Journal.objects.get(process=failed, step__name="left", event="processed")
        assert row.actor == "ann"
        assert row.detail["reason"] == "phoned"
        assert invariants.violations() == []

    def test_what_was_done_by_hand_is_undone_with_the_rest(
        self, failed: Process, wire: Wire
    ) -> None:
        toy.script["toy.delta"] = refuse
        commands.complete(failed.pk, "left", {}, actor="ann", reason="phoned")
        wire.run_until_idle()

        failed.refresh_from_db()
        assert failed.state == "compensated"
        assert {name for name, _ in toy.undone} == {"undo_top", "undo_left", "undo_right"}
        assert invariants.violations() == []

    @pytest.mark.parametrize("result", [{"a": "\x00"}, {"a": float("nan")}], ids=str)
    def test_a_result_that_cannot_be_stored_is_refused(
        self, failed: Process, result: dict[str, Any]
    ) -> None:
        before = rows()
        with pytest.raises(StateError):
            commands.complete(failed.pk, "left", result, actor="ann", reason="")
        assert rows() == before

    def test_a_skipped_step_lets_the_process_go_on(self, failed: Process, wire: Wire) -> None:
        commands.skip(failed.pk, "left", actor="ann", reason="not needed")
        wire.run_until_idle()

        failed.refresh_from_db()
        assert failed.state == "processed"
        assert only(failed, "left").state == "skipped"
        assert invariants.violations() == []

    def test_a_step_an_agent_is_at_work_on_is_left_alone(self) -> None:
        process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
        start(claim())
        before = rows()

        for verb in (
            lambda: commands.skip(process.pk, "one", actor="ann", reason=""),
            lambda: commands.complete(process.pk, "one", {}, actor="ann", reason=""),
        ):
            with pytest.raises(StateError, match="at work"):
                verb()
        assert rows() == before

    @pytest.mark.fault("F40")
    def test_the_second_of_two_clicks_is_refused(self, failed: Process) -> None:
        seen = failed.sequence
        commands.skip(failed.pk, "left", actor="ann", reason="", sequence=seen)
        before = rows()

        with pytest.raises(StateError, match="has moved"):
            commands.skip(failed.pk, "left", actor="bob", reason="", sequence=seen)
        with pytest.raises(StateError, match="cannot be skipped"):
            commands.skip(failed.pk, "left", actor="bob", reason="")
        assert rows() == before

    def test_a_stuck_undo_is_completed_by_hand_and_never_skipped(self, wire: Wire) -> None:
        toy.script["toy.gamma"] = refuse
        toy.script["toy.undoer"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        process.refresh_from_db()
        assert process.state == "error"
        stuck = Step.objects.get(process=process, state="error", undoes__isnull=False)

        with pytest.raises(StateError, match="cannot be skipped"):
            commands.skip(process.pk, stuck.name, actor="ann", reason="")
        toy.script.clear()
        commands.complete(process.pk, stuck.name, {}, actor="ann", reason="by phone")
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "compensated"
        assert invariants.violations() == []


class TestAsking:
    """``OnFailure.ASK``: the other branches go on, an operator decides on the step."""

    @pytest.fixture
    def asked(self, wire: Wire) -> Process:
        toy.script["toy.alpha"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        wire.run_until_idle()
        return process

    def test_the_other_branch_goes_on_and_an_operator_is_told(
        self, asked: Process, wire: Wire
    ) -> None:
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

    def test_what_another_step_needed_does_not_wait_for_the_asking_one(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = toy.script["toy.beta"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script.clear()
        commands.complete(process.pk, "b", {}, actor="ann", reason="by phone")
        wire.run_until_idle()

        assert wire.states(process)["b2"] == "processed"
        process.refresh_from_db()
        assert process.state == "error"

    def test_a_step_that_asks_is_resubmitted_while_the_others_run(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = refuse
        process = submit("toy_asking", subject="Toy 1", input={})
        scheduler.advance()
        wire.deliver(wire.messages[0])
        wire.deliver(wire.messages[-1])
        process.refresh_from_db()
        assert (process.state, only(process, "a").state) == ("processing", "error")

        toy.script.clear()
        commands.resubmit(process.pk, actor="ann", reason="try again")
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "processed"
        assert invariants.violations() == []


class TestBeginningAgain:
    """Resubmitting from an earlier step undoes it and what came after it first."""

    @pytest.fixture
    def stopped(self, wire: Wire) -> Process:
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script.clear()
        return process

    def test_the_preview_says_what_would_happen_and_changes_nothing(self, stopped: Process) -> None:
        before = rows()
        found = commands.preview_again(stopped.pk, "top")

        assert found.steps == ("top", "left", "right", "bottom", "mail")
        assert [planned.name for planned in found.undo.undo] == ["undo_right", "undo_top"]
        assert rows() == before

    @pytest.mark.usefixtures("same_material")
    def test_everything_from_there_on_is_undone_once_and_done_again(
        self, stopped: Process, wire: Wire
    ) -> None:
        keys = {step.name: step.idempotency_key for step in stopped.steps.all()}
        commands.begin_again(stopped.pk, "top", actor="ann", reason="wrong colour")
        wire.run_until_idle()

        stopped.refresh_from_db()
        assert (stopped.state, stopped.outcome, stopped.renews) == ("processed", None, [])
        assert toy.undone == [("undo_right", keys["right"]), ("undo_top", keys["top"])]
        assert toy.calls["toy.alpha"] == [keys["top"], keys["top"][:-1] + "2"]
        assert only(stopped, "undo_top").state == "processed"
        assert invariants.violations() == []

    def test_one_branch_begins_again_and_the_rest_stays(self, stopped: Process, wire: Wire) -> None:
        commands.begin_again(stopped.pk, "right", actor="ann", reason="")
        wire.run_until_idle()

        stopped.refresh_from_db()
        # The other branch's failure still needs somebody: decided at the next look.
        wire.run_until_idle()
        stopped.refresh_from_db()
        assert stopped.state == "error"
        assert [name for name, _ in toy.undone] == ["undo_right"]
        assert len(toy.calls["toy.alpha"]) == 1
        commands.resubmit(stopped.pk, actor="ann", reason="")
        wire.run_until_idle()
        stopped.refresh_from_db()
        assert stopped.state == "processed"
        assert invariants.violations() == []

    def test_it_can_begin_again_twice_and_then_be_undone(
        self, stopped: Process, wire: Wire
    ) -> None:
        toy.script["toy.beta"] = refuse
        for _ in range(2):
            commands.begin_again(stopped.pk, "top", actor="ann", reason="")
            wire.run_until_idle()
        commands.undo(stopped.pk, outcome="cancelled", actor="ann", reason="enough")
        wire.run_until_idle()

        stopped.refresh_from_db()
        assert stopped.state == "cancelled"
        undone = [name for name, _ in toy.undone if name.startswith("undo_top")]
        assert undone == ["undo_top", "undo_top_2", "undo_top_3"]
        assert len({key for _, key in toy.undone}) == len(toy.undone)
        assert invariants.violations() == []

    def test_what_fails_beside_it_meanwhile_is_decided_on_afterwards(self, wire: Wire) -> None:
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        scheduler.advance()
        while only(process, "left").started_at is None:
            wire.deliver(wire.messages[0])
        replies = wire.of("workers.settle")
        wire.drop_all()
        commands.begin_again(process.pk, "right", actor="ann", reason="")
        for message in replies:
            wire.deliver(message)
        toy.script.clear()
        for _ in range(3):
            wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "error"
        assert Alert.objects.filter(process=process, code="process_error").count() == 1
        assert invariants.violations() == []

    def test_an_alert_that_was_acknowledged_is_raised_anew(
        self, stopped: Process, wire: Wire
    ) -> None:
        Alert.objects.update(acknowledged_at="2026-01-01T00:00:00Z")
        commands.begin_again(stopped.pk, "right", actor="ann", reason="")
        for _ in range(3):
            wire.run_until_idle()

        stopped.refresh_from_db()
        assert stopped.state == "error"
        assert Alert.objects.filter(acknowledged_at=None).count() == 1

    def test_an_early_answer_of_the_former_use_is_forgotten(self, wire: Wire) -> None:
        toy.script["toy.gamma"] = refuse
        process = submit("toy_answered", subject="Toy 1", input={})
        wire.run_until_idle()
        Step.objects.filter(process=process, name="ask").update(early={"result": {"old": True}})
        commands.begin_again(process.pk, "first", actor="ann", reason="")
        wire.run_until_idle()
        assert only(process, "ask").early is None

    def test_an_effect_that_nothing_undoes_forbids_it(self, wire: Wire) -> None:
        toy.script["toy.beta"] = refuse
        process = submit("toy_line", subject="Toy 1", input={})
        wire.run_until_idle()
        before = rows()

        with pytest.raises(StateError, match="nothing undoes one"):
            commands.begin_again(process.pk, "one", actor="ann", reason="")
        assert rows() == before

    def test_it_is_refused_past_the_point_of_no_return(self, wire: Wire) -> None:
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        process.refresh_from_db()
        with pytest.raises(StateError):
            commands.begin_again(process.pk, "top", actor="ann", reason="")

    @pytest.mark.parametrize("name", ["bottom", "nothing"])
    def test_a_step_that_has_not_begun_cannot_begin_again(
        self, stopped: Process, name: str
    ) -> None:
        before = rows()
        with pytest.raises(StateError):
            commands.begin_again(stopped.pk, name, actor="ann", reason="")
        assert rows() == before

    @pytest.mark.fault("F39")
    def test_a_crash_on_the_way_back_is_made_good(self, stopped: Process, wire: Wire) -> None:
        commands.begin_again(stopped.pk, "top", actor="ann", reason="")
        scheduler.advance()
        wire.drop_all()
        pass_time(20)
        wire.run_until_idle()

        stopped.refresh_from_db()
        assert stopped.state == "processed"
        assert invariants.violations() == []

    def test_a_stuck_undo_stops_it_and_a_resubmission_carries_on(
        self, stopped: Process, wire: Wire
    ) -> None:
        toy.script["toy.undoer"] = refuse
        commands.begin_again(stopped.pk, "top", actor="ann", reason="")
        wire.run_until_idle()
        stopped.refresh_from_db()
        assert stopped.state == "error"
        toy.script.clear()
        commands.resubmit(stopped.pk, actor="ann", reason="")
        wire.run_until_idle()

        stopped.refresh_from_db()
        assert stopped.state == "processed"
        assert invariants.violations() == []


def test_a_verb_without_a_process_is_refused() -> None:
    with pytest.raises(StateError, match="no process"):
        commands.pause(4711, actor="ann", reason="")


@pytest.mark.fault("F40")
def test_of_two_settlers_and_an_operator_nobody_overruns_the_other(wire: Wire) -> None:
    """A reply that comes in after a step was completed by hand is stale."""
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    (taken,) = claim()
    commands.complete(process.pk, "one", {"by": "hand"}, actor="ann", reason="", now=NOW)

    late = Reply(taken.step_id, taken.claim_id, 1, result={"by": "agent"})
    assert settle_replies.settle([late], "scheduler", NOW).stale == 1
    assert only(process, "one").result == {"by": "hand"}
