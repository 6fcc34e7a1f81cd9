"""Conditions, delays, dates and tasks that serve as agents, through the real store."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.integration.conftest import begin, only, reread
from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.models import Alert, Process, Step
from workers.ops import invariants
from workers.store.db import dialect
from workers.store.flow import holds
from workers.testing import forget_duties, pass_time
from workers.testing.agent_processes import CALL

LATER = datetime(2126, 1, 1, tzinfo=UTC)


class TestConditions:
    @pytest.mark.parametrize("maybe", [True, False])
    @pytest.mark.parametrize("size", [5, 50])
    def test_a_step_is_done_or_skipped_as_its_condition_says(self, wire, maybe, size):
        toy.script["toy.beta"] = lambda call: {"size": size}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": maybe})
        wire.run_until_idle()

        assert reread(process).state == "processed"
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

    def test_a_process_of_which_nothing_is_wanted_is_processed(self, wire):
        process = submit("toy_unwanted", subject="Toy 1", input={})
        assert reread(process).state == "processed"
        assert invariants.violations() == []

    def test_a_condition_that_cannot_be_read_stops_the_process_with_the_reason(self, wire, caplog):
        toy.script["toy.beta"] = lambda call: {"no": "size"}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": True})
        wire.run_until_idle()

        process.refresh_from_db()
        step = only(process, "if_big")
        assert (process.state, step.state) == ("error", "error")
        assert step.fault["code"] == "condition_failed"
        (line,) = [vars(one) for one in caplog.records if one.message == "condition_failed"]
        assert (line["subject"], line["trace"]) == ("Toy 1", process.uid.hex)
        assert "size" in step.fault["message"]
        assert Alert.objects.get().code == "process_error"
        assert invariants.violations() == []

    def test_a_first_condition_that_cannot_be_read_is_told_too(self, wire):
        process = submit("toy_conditional", subject="Toy 1", input={})
        assert reread(process).state == "error"
        assert only(process, "maybe").fault["code"] == "condition_failed"
        assert invariants.violations() == []

    def test_a_step_that_is_not_wanted_does_not_wait_for_its_agent(self, wire):
        """An order without a gift does not wait for the gift service."""
        holds.hold("agent", "toy.gamma", actor="ann", reason="broken")
        toy.script["toy.beta"] = lambda call: {"size": 1}
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": False})
        wire.run_until_idle()

        assert wire.states(process)["if_big"] == "skipped"
        assert wire.states(process)["last"] == "processed"

    def test_a_condition_that_failed_is_asked_again(self, wire):
        process = submit("toy_conditional", subject="Toy 1", input={})
        Process.objects.update(input={"maybe": False})
        operations.resubmit(process.pk, actor="ann", reason="mended")
        assert only(process, "maybe").state == "skipped"
        assert toy.calls["toy.alpha"] == []

    def test_a_fall_back_is_no_answer_to_a_condition_that_failed(self, wire):
        process = submit("toy_judged_fallback", subject="Toy 1", input={})
        process.refresh_from_db()
        assert (process.state, only(process, "ship").agent) == ("error", "toy.alpha")

    def test_an_empty_result_is_a_result(self, wire):
        toy.script["toy.alpha"] = lambda call: {}
        process = submit("toy_after_empty", subject="Toy 1", input={})
        wire.run_until_idle()
        assert wire.states(process) == {"one": "processed", "two": "processed"}

    @pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
    def test_a_condition_that_returns_a_coroutine_says_nothing(self, wire):
        process = submit("toy_unawaited_condition", subject="Toy 1", input={})
        wire.run_until_idle()
        step = only(process, "one")
        assert (step.state, step.attempt) == ("error", 0)
        assert step.fault["code"] == "condition_failed"
        assert "coroutine" in step.fault["message"]

    def test_a_condition_that_breaks_the_database_takes_nothing_along(self, wire):
        process = submit("toy_broken_condition", subject="Toy 1", input={})
        wire.run_until_idle()
        assert only(process, "one").failure_count == 0
        assert wire.states(process) == {"one": "processed", "two": "error"}
        assert only(process, "two").fault["code"] == "condition_failed"

    @pytest.mark.parametrize("workflow", ["toy_line", "toy_conditional"])
    def test_a_step_that_was_renamed_is_left_to_others(self, workflow, wire):
        """Its name stands on the row, and this code's workflow has no such step any more."""
        process = submit(workflow, subject="Toy 1", input={"maybe": False})
        if workflow == "toy_conditional":
            toy.script["toy.beta"] = lambda call: {"size": 50}
            begin(wire)
            wire.deliver_all(CALL)
            Step.objects.filter(process=process, name="if_big").update(name="if_large")
        else:
            Step.objects.filter(process=process, name="one").update(name="first")
        wire.run_until_idle()

        rows = Step.objects.filter(process=process)
        assert not rows.filter(state="error").exists()
        (waiting,) = rows.filter(name__in=("first", "if_large"))
        assert waiting.failure_count == 0
        assert waiting.state in ("pending", "waiting")
        (alert,) = Alert.objects.all()
        assert (alert.code, alert.params["says"]) == ("unknown_definition", ["step"])

    @pytest.mark.fault("F35")
    def test_condition_of_unknown_workflow_version_is_left_to_other_workers(self, wire):
        process = submit("toy_conditional", subject="Toy 1", input={"maybe": False})
        toy.script["toy.beta"] = lambda call: {"size": 50}
        begin(wire)
        wire.deliver_all(CALL)
        Process.objects.update(version=99)
        wire.run_until_idle()

        assert wire.states(process)["if_big"] == "waiting"
        assert {alert.code for alert in Alert.objects.all()} == {"unknown_definition"}

        Process.objects.update(version=1)
        forget_duties()
        wire.run_until_idle()
        assert reread(process).state == "processed"


class TestDelays:
    def test_a_delay_is_a_row_and_passes(self, wire):
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
        assert reread(process).state == "processed"
        assert invariants.violations() == []

    def test_a_date_in_the_past_delays_nothing(self, wire):
        process = submit("toy_delayed", subject="Toy 1", input={"day": "2001-01-01T00:00:00+00:00"})
        pass_time(61)
        wire.run_until_idle()
        assert wire.states(process)["on_the_day"] == "processed"

    def test_a_date_without_a_time_zone_is_refused(self, wire):
        process = submit("toy_delayed", subject="Toy 1", input={"day": "2126-01-01"})
        pass_time(61)
        wire.run_until_idle()
        assert only(process, "on_the_day").fault["code"] == "condition_failed"
        assert "time zone" in only(process, "on_the_day").fault["message"]


class TestTasksAsAgents:
    """A ``@shared_task`` that was there before serves as an agent, unchanged."""

    def test_it_is_called_with_the_payload_and_the_key(self, wire):
        process = submit("toy_greeting", subject="Toy 1", input={"name": "Ada"})
        wire.run_until_idle()

        step = only(process, "greet")
        assert step.result == {"returned": "hello Ada"}
        assert toy.calls["toy.greet"] == [step.idempotency_key]

    def test_its_own_retry_counts_as_a_transient_fault(self, wire):
        def again(task: Any) -> None:
            raise task.retry(exc=RuntimeError("busy"), countdown=60)

        toy.script["toy.greet"] = again
        process = submit("toy_greeting", subject="Toy 1", input={"name": "Ada"})
        wire.run_until_idle()

        step = only(process, "greet")
        assert (step.state, step.failure_count) == ("pending", 1)
        assert "busy" in step.fault["message"]

    def test_its_calls_are_made_one_by_one(self, wire):
        for n in range(5):
            submit("toy_greeting", subject=f"Toy {n}", input={"name": "Ada"})
        begin(wire)
        assert [len(sent.works) for sent in wire.of(CALL)] == [1] * 5
