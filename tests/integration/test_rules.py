"""Conditions, delays, dates and the clocks of steps and processes, through the real store."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.conftest import only
from tests.toyflow import agents as toy
from workers import scheduler
from workers.client.submission import submit
from workers.definitions.agent import Call, Deferred
from workers.exceptions import Permanent, StateError, Transient, Unavailable
from workers.models import Alert, Journal, Process, Step
from workers.operate import invariants
from workers.store.db import dialect
from workers.store.flow import holds
from workers.store.operate import commands
from workers.supervisor import sweep
from workers.testing import Wire, forget_duties, pass_time

pytestmark = pytest.mark.django_db

LATER = datetime(2126, 1, 1, tzinfo=UTC)


class TestConditions:
    @pytest.mark.parametrize("maybe", [True, False])
    @pytest.mark.parametrize("size", [5, 50])
    def test_a_step_is_done_or_skipped_as_its_condition_says(
        self, wire: Wire, maybe: bool, size: int
    ) -> None:
        toy.script["toy.beta"] = lambda call: {"size": size}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": maybe})
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "processed"
        assert wire.states(process) == {
            "maybe": "processed" if maybe else "skipped",
            "work": "processed",
            "if_big": "processed" if size > 10 else "skipped",
            "last": "processed",
        }
        assert len(toy.calls["toy.alpha"]) == maybe
        assert len(toy.calls["toy.gamma"]) == (size > 10)
        assert Alert.objects.count() == 0
        assert invariants.violations() == []

    def test_a_process_of_which_nothing_is_wanted_is_processed(self, wire: Wire) -> None:
        process = submit("toy_unwanted", subject="Toy 1", input={})
        process.refresh_from_db()
        assert process.state == "processed"
        assert invariants.violations() == []

    def test_a_condition_that_cannot_be_read_stops_the_process_with_the_reason(
        self, wire: Wire
    ) -> None:
        toy.script["toy.beta"] = lambda call: {"no": "size"}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": True})
        wire.run_until_idle()

        process.refresh_from_db()
        step = only(process, "if_big")
        assert (process.state, step.state) == ("error", "error")
        assert step.fault["code"] == "condition_failed"
        assert "size" in step.fault["message"]
        assert Alert.objects.get().code == "process_error"
        assert invariants.violations() == []

    def test_a_first_condition_that_cannot_be_read_is_told_too(self, wire: Wire) -> None:
        process = submit("toy_conditional", subject="Toy 1", input={})
        process.refresh_from_db()
        assert process.state == "error"
        assert only(process, "maybe").fault["code"] == "condition_failed"
        assert invariants.violations() == []

    def test_a_step_that_is_not_wanted_does_not_wait_for_its_agent(self, wire: Wire) -> None:
        """An order without a gift does not wait for the gift service."""
        holds.hold("agent", "toy.gamma", actor="ann", reason="broken")
        toy.script["toy.beta"] = lambda call: {"size": 1}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": False})
        wire.run_until_idle()

        assert wire.states(process)["if_big"] == "skipped"
        assert wire.states(process)["last"] == "processed"

    def test_a_condition_that_failed_is_asked_again(self, wire: Wire) -> None:
        process = submit("toy_conditional", subject="Toy 1", input={})
        Process.objects.update(input={"maybe": False})
        commands.resubmit(process.pk, actor="ann", reason="mended")
        assert only(process, "maybe").state == "skipped"
        assert toy.calls["toy.alpha"] == []

    def test_a_fall_back_is_no_answer_to_a_condition_that_failed(self, wire: Wire) -> None:
        process = submit("toy_judged_fallback", subject="Toy 1", input={})
        process.refresh_from_db()
        assert (process.state, only(process, "ship").agent) == ("error", "toy.alpha")

    def test_an_empty_result_is_a_result(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = lambda call: {}
        process = submit("toy_after_empty", subject="Toy 1", input={})
        wire.run_until_idle()
        assert wire.states(process) == {"one": "processed", "two": "processed"}

    def test_a_condition_that_breaks_the_database_takes_nothing_along(self, wire: Wire) -> None:
        process = submit("toy_broken_condition", subject="Toy 1", input={})
        wire.run_until_idle()
        assert only(process, "one").failure_count == 0
        assert wire.states(process) == {"one": "processed", "two": "error"}
        assert only(process, "two").fault["code"] == "condition_failed"

    @pytest.mark.fault("F35")
    def test_a_version_nobody_knows_here_is_left_to_others(self, wire: Wire) -> None:
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": False})
        toy.script["toy.beta"] = lambda call: {"size": 50}
        scheduler.advance()
        wire.deliver_all("workers.run_bundle")
        Process.objects.update(version=99)
        wire.run_until_idle()

        assert wire.states(process)["if_big"] == "waiting"
        assert {alert.code for alert in Alert.objects.all()} == {"unknown_definition"}

        Process.objects.update(version=1)
        forget_duties()
        wire.run_until_idle()
        process.refresh_from_db()
        assert process.state == "processed"


class TestDelays:
    def test_a_delay_is_a_row_and_passes(self, wire: Wire) -> None:
        day = (dialect.read_clock() + timedelta(days=3)).isoformat()
        process = submit("toy_delayed", subject="Toy 1", input={"day": day})
        wire.run_until_idle()
        assert wire.states(process) == {
            "soon": "pending",
            "later": "waiting",
            "on_the_day": "waiting",
        }

        pass_time(61)
        wire.run_until_idle()
        assert wire.states(process) == {
            "soon": "processed",
            "later": "pending",
            "on_the_day": "pending",
        }
        assert only(process, "on_the_day").not_before.isoformat() == day

        pass_time(3601)
        wire.run_until_idle()
        assert wire.states(process)["later"] == "processed"
        assert wire.states(process)["on_the_day"] == "pending"

        pass_time(3 * 86_400)
        wire.run_until_idle()
        process.refresh_from_db()
        assert process.state == "processed"
        assert invariants.violations() == []

    def test_a_date_in_the_past_delays_nothing(self, wire: Wire) -> None:
        process = submit("toy_delayed", subject="Toy 1", input={"day": "2001-01-01T00:00:00+00:00"})
        pass_time(61)
        wire.run_until_idle()
        assert wire.states(process)["on_the_day"] == "processed"

    def test_a_date_without_a_time_zone_is_refused(self, wire: Wire) -> None:
        process = submit("toy_delayed", subject="Toy 1", input={"day": "2126-01-01"})
        pass_time(61)
        wire.run_until_idle()
        assert only(process, "on_the_day").fault["code"] == "condition_failed"
        assert "time zone" in only(process, "on_the_day").fault["message"]


def fail(call: Call) -> dict[str, Any]:
    raise Transient("busy", "busy")


def be_away(call: Call) -> dict[str, Any]:
    raise Unavailable("http_503", "away")


def use_time_up(wire: Wire) -> None:
    """Let attempts follow each other; their backoff counts, waiting for room does not."""
    for _ in range(40):
        pass_time(30)
        Step.objects.filter(not_before__gt=dialect.read_clock()).update(
            not_before=dialect.read_clock()
        )
        wire.run_until_idle()


class TestTotal:
    def test_a_failure_past_the_time_for_all_attempts_is_the_last(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = fail
        process = submit("toy_in_all", subject="Toy 1", input={})
        wire.run_until_idle()
        assert only(process, "try").state == "pending"

        use_time_up(wire)

        step = only(process, "try")
        assert step.state == "error"
        assert 2 <= step.failure_count < 50
        row = Journal.objects.get(process=process, event="failed", after="error")
        assert row.detail["reason"] == "total_exhausted"

    def test_an_outage_alone_uses_no_time_up(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = be_away
        process = submit("toy_in_all", subject="Toy 1", input={})
        for _ in range(5):
            wire.run_until_idle()
            pass_time(400)
        toy.script.clear()
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "processed"

    def test_a_failure_after_an_outage_is_not_the_last(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = fail
        process = submit("toy_in_all", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script["toy.alpha"] = be_away
        for _ in range(5):
            pass_time(400)
            wire.run_until_idle()
        toy.script["toy.alpha"] = fail
        pass_time(400)
        wire.run_until_idle()

        step = only(process, "try")
        assert (step.state, step.failure_count) == ("pending", 2)

    def test_a_resubmission_gives_the_time_back(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = fail
        process = submit("toy_in_all", subject="Toy 1", input={})
        wire.run_until_idle()
        use_time_up(wire)

        commands.resubmit(process.pk, actor="ann", reason="")
        wire.run_until_idle()
        assert only(process, "try").state == "pending"


class TestDeadline:
    def test_a_process_past_its_deadline_is_undone(self, wire: Wire) -> None:
        toy.script["toy.beta"] = be_away
        process = submit("toy_dated", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        wire.run_until_idle()

        process.refresh_from_db()
        assert (process.state, process.deadline_at) == ("compensated", None)
        assert [name for name, _ in toy.undone] == ["undo_one"]
        assert Alert.objects.get(code="deadline_passed").times == 1
        assert Journal.objects.filter(process=process, event="deadline_passed").count() == 1
        assert invariants.violations() == []

    def test_one_in_error_is_undone_as_well(self, wire: Wire) -> None:
        def refuse(call: Call) -> dict[str, Any]:
            raise Permanent("no", "no")

        toy.script["toy.beta"] = refuse
        process = submit("toy_dated", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "compensated"

    def test_a_pause_does_not_stop_it(self, wire: Wire) -> None:
        process = submit("toy_dated", subject="Toy 1", input={})
        commands.pause(process.pk, actor="ann", reason="")
        pass_time(3601)
        sweep()
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "compensated"

    def test_it_never_applies_to_undoing(self, wire: Wire) -> None:
        toy.script["toy.undoer"] = be_away
        process = submit("toy_dated", subject="Toy 1", input={})
        scheduler.advance()
        wire.deliver_all("workers.run_bundle")
        wire.deliver_all("workers.settle")
        commands.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        toy.script.clear()
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "cancelled"
        assert not Alert.objects.filter(code="deadline_passed").exists()

    def test_one_that_begins_again_still_has_its_deadline(self, wire: Wire) -> None:
        def refuse(call: Call) -> dict[str, Any]:
            raise Permanent("no", "no")

        toy.script["toy.beta"] = refuse
        toy.script["toy.undoer"] = refuse
        process = submit("toy_dated", subject="Toy 1", input={})
        wire.run_until_idle()
        commands.begin_again(process.pk, "one", actor="ann", reason="")
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.needs_decision) == ("error", False)
        assert process.deadline_at is not None

        toy.script.clear()
        toy.script["toy.beta"] = be_away
        commands.resubmit(process.pk, actor="ann", reason="")
        wire.run_until_idle()
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.deadline_at) == ("compensated", None)

    def test_a_workflow_may_only_want_to_be_told(self, wire: Wire) -> None:
        toy.script["toy.alpha"] = be_away
        process = submit("toy_watched", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        sweep()
        toy.script.clear()
        wire.run_until_idle()

        process.refresh_from_db()
        assert process.state == "processed"
        assert Alert.objects.get().code == "deadline_passed"

    def test_a_process_in_time_keeps_its_deadline(self, wire: Wire) -> None:
        process = submit("toy_dated", subject="Toy 1", input={}, deadline_at=LATER)
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.deadline_at) == ("processed", LATER)
        assert Alert.objects.count() == 0


class TestEffects:
    """What happens after a call of unknown outcome depends on what the agent declares."""

    def start_and_lose(self, wire: Wire) -> None:
        """Have the present attempt end without an answer."""
        scheduler.advance()
        wire.deliver_all("workers.run_bundle")
        wire.drop_all()
        pass_time(40)
        sweep()
        wire.drop_all()
        pass_time(400)

    @pytest.mark.fault("F27")
    def test_what_can_be_asked_is_asked_before_a_second_call(self, wire: Wire) -> None:
        process = submit("toy_queried", subject="Toy 1", input={})
        self.start_and_lose(wire)
        toy.script["toy.asker?"] = lambda call: {"found": True}
        wire.run_until_idle()

        assert only(process, "pay").result == {"found": True}
        assert len(toy.calls["toy.asker"]) == 1
        assert toy.calls["toy.asker?"] == toy.calls["toy.asker"]

    def test_proof_that_nothing_happened_lets_it_be_called_again(self, wire: Wire) -> None:
        process = submit("toy_queried", subject="Toy 1", input={})
        self.start_and_lose(wire)
        wire.run_until_idle()

        assert only(process, "pay").state == "processed"
        assert len(toy.calls["toy.asker?"]) == 1
        assert len(toy.calls["toy.asker"]) == 2

    def test_while_nobody_can_tell_it_is_not_called(self, wire: Wire) -> None:
        process = submit("toy_queried", subject="Toy 1", input={})
        self.start_and_lose(wire)
        toy.script["toy.asker?"] = be_away
        wire.run_until_idle()

        assert only(process, "pay").state == "pending"
        assert only(process, "pay").is_in_doubt
        assert len(toy.calls["toy.asker"]) == 1

    def test_a_first_call_is_not_asked_after(self, wire: Wire) -> None:
        submit("toy_queried", subject="Toy 1", input={})
        wire.run_until_idle()
        assert toy.calls["toy.asker?"] == []

    def test_a_key_the_service_has_forgotten_is_not_used_again(self, wire: Wire) -> None:
        process = submit("toy_forgetful", subject="Toy 1", input={})
        self.start_and_lose(wire)
        pass_time(3700)
        wire.run_until_idle()
        scheduler.advance()

        process.refresh_from_db()
        assert process.state == "error"
        assert only(process, "pay").fault["code"] == "key_expired"
        assert len(toy.calls["toy.forgetful"]) == 1
        assert invariants.violations() == []

    def test_an_outage_takes_nothing_of_a_keys_retention(self, wire: Wire) -> None:
        toy.script["toy.forgetful"] = be_away
        process = submit("toy_forgetful", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(7200)
        toy.script["toy.forgetful"] = fail
        wire.run_until_idle()
        assert (only(process, "pay").state, only(process, "pay").failure_count) == ("pending", 1)

    def test_waiting_does_not_bring_a_forgotten_key_back(self, wire: Wire) -> None:
        process = submit("toy_waits_in_vain", subject="Toy 1", input={})
        self.start_and_lose(wire)
        pass_time(3700)
        wire.run_until_idle()
        scheduler.advance()

        process.refresh_from_db()
        assert process.state == "error"
        assert Alert.objects.get().code == "process_error"

    def test_an_undo_does_not_use_a_forgotten_key_either(self, wire: Wire) -> None:
        process = submit("toy_forgetful_undo", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script["toy.forgetful"] = fail
        commands.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        scheduler.advance()
        wire.deliver_all("workers.run_bundle")
        wire.deliver_all("workers.settle")
        assert len(toy.calls["toy.forgetful"]) == 1
        pass_time(4000)
        wire.run_until_idle()
        scheduler.advance()

        assert only(process, "unone").fault["code"] == "key_expired"
        assert len(toy.calls["toy.forgetful"]) == 1
        assert Alert.objects.filter(code="undo_stuck").exists()

    def test_within_its_retention_the_key_is_used_again(self, wire: Wire) -> None:
        process = submit("toy_forgetful", subject="Toy 1", input={})
        self.start_and_lose(wire)
        wire.run_until_idle()
        assert only(process, "pay").state == "processed"
        assert len(toy.calls["toy.forgetful"]) == 2

    def test_an_operator_must_say_that_nothing_happened(self, wire: Wire) -> None:
        process = submit("toy_forgetful", subject="Toy 1", input={})
        self.start_and_lose(wire)
        pass_time(3700)
        wire.run_until_idle()
        scheduler.advance()
        before = list(Step.objects.values())

        with pytest.raises(StateError, match="Nobody knows whether pay happened"):
            commands.resubmit(process.pk, actor="ann", reason="")
        assert list(Step.objects.values()) == before

        commands.resubmit(process.pk, actor="ann", reason="asked them", nothing_happened=True)
        wire.run_until_idle()
        process.refresh_from_db()
        assert process.state == "processed"
        assert len(toy.calls["toy.forgetful"]) == 2

    def test_what_changes_nothing_outside_is_never_in_doubt(self, wire: Wire) -> None:
        toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
        process = submit("toy_event", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(70)
        sweep()

        step = only(process, "arrives")
        assert (step.failure_count, step.may_have_effect, step.is_in_doubt) == (1, False, False)


class TestTasksAsAgents:
    """A ``@shared_task`` that was there before serves as an agent, unchanged."""

    def test_it_is_called_with_the_payload_and_the_key(self, wire: Wire) -> None:
        process = submit("toy_greeting", subject="Toy 1", input={"name": "Ada"})
        wire.run_until_idle()

        step = only(process, "greet")
        assert step.result == {"returned": "hello Ada"}
        assert toy.calls["toy.greet"] == [step.idempotency_key]

    def test_its_own_retry_counts_as_a_transient_fault(self, wire: Wire) -> None:
        def again(task: Any) -> None:
            raise task.retry(exc=RuntimeError("busy"), countdown=60)

        toy.script["toy.greet"] = again
        process = submit("toy_greeting", subject="Toy 1", input={"name": "Ada"})
        wire.run_until_idle()

        step = only(process, "greet")
        assert (step.state, step.failure_count) == ("pending", 1)
        assert "busy" in step.fault["message"]

    def test_its_calls_travel_one_by_one(self, wire: Wire) -> None:
        for n in range(5):
            submit("toy_greeting", subject=f"Toy {n}", input={"name": "Ada"})
        scheduler.advance()
        assert [len(sent.requests) for sent in wire.of("workers.run_bundle")] == [1] * 5
