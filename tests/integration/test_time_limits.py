"""The time for all attempts of a step, and the deadline of a whole process."""

from datetime import UTC, datetime
from typing import Any

from tests.integration.conftest import begin, only
from tests.toyflow import agents as toy
from tests.toyflow.faults import be_away, fail
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent
from workers.models import Alert, Journal, Process, Step
from workers.ops import invariants
from workers.store.db import dialect
from workers.supervisor import sweep
from workers.testing import Wire, pass_time
from workers.testing.agent_processes import CALL, REPLY

LATER = datetime(2126, 1, 1, tzinfo=UTC)


def use_time_up(wire: Wire) -> None:
    """Let attempts follow each other; their backoff counts, waiting for room does not."""
    for _ in range(40):
        pass_time(30)
        Step.objects.filter(not_before__gt=dialect.read_clock()).update(
            not_before=dialect.read_clock()
        )
        wire.run_until_idle()


class TestTotal:
    def test_a_failure_past_the_time_for_all_attempts_is_the_last(self, wire):
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

    def test_an_outage_alone_uses_no_time_up(self, wire):
        toy.script["toy.alpha"] = be_away
        submit("toy_in_all", subject="Toy 1", input={})
        for _ in range(5):
            wire.run_until_idle()
            pass_time(400)
        toy.script.clear()
        wire.run_until_idle()

        assert Process.objects.get().state == "processed"

    def test_a_failure_after_an_outage_is_not_the_last(self, wire):
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

    def test_a_resubmission_gives_the_time_back(self, wire):
        toy.script["toy.alpha"] = fail
        process = submit("toy_in_all", subject="Toy 1", input={})
        wire.run_until_idle()
        use_time_up(wire)

        operations.resubmit(process.pk, actor="ann", reason="")
        wire.run_until_idle()
        assert only(process, "try").state == "pending"


class TestDeadline:
    def test_a_process_past_its_deadline_is_undone(self, wire):
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

    def test_one_in_error_is_undone_as_well(self, wire):
        def refuse(call: Call) -> dict[str, Any]:
            raise Permanent("no", "no")

        toy.script["toy.beta"] = refuse
        submit("toy_dated", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        wire.run_until_idle()

        assert Process.objects.get().state == "compensated"

    def test_a_pause_does_not_stop_it(self, wire):
        process = submit("toy_dated", subject="Toy 1", input={})
        operations.pause(process.pk, actor="ann", reason="")
        pass_time(3601)
        sweep()
        wire.run_until_idle()

        assert Process.objects.get().state == "compensated"

    def test_it_never_applies_to_undoing(self, wire):
        toy.script["toy.undoer"] = be_away
        process = submit("toy_dated", subject="Toy 1", input={})
        begin(wire)
        wire.deliver_all(CALL)
        wire.deliver_all(REPLY)
        operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        toy.script.clear()
        wire.run_until_idle()

        assert Process.objects.get().state == "cancelled"
        assert not Alert.objects.filter(code="deadline_passed").exists()

    def test_one_that_begins_again_still_has_its_deadline(self, wire):
        def refuse(call: Call) -> dict[str, Any]:
            raise Permanent("no", "no", no_effect=True)

        toy.script["toy.beta"] = refuse
        toy.script["toy.undoer"] = refuse
        process = submit("toy_dated", subject="Toy 1", input={})
        wire.run_until_idle()
        operations.begin_again(process.pk, "one", actor="ann", reason="")
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.needs_decision) == ("error", False)
        assert process.deadline_at is not None

        toy.script.clear()
        toy.script["toy.beta"] = be_away
        operations.resubmit(process.pk, actor="ann", reason="")
        wire.run_until_idle()
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.deadline_at) == ("compensated", None)

    def test_a_workflow_may_only_want_to_be_told(self, wire):
        toy.script["toy.alpha"] = be_away
        submit("toy_watched", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(3601)
        sweep()
        sweep()
        toy.script.clear()
        wire.run_until_idle()

        assert Process.objects.get().state == "processed"
        assert Alert.objects.get().code == "deadline_passed"

    def test_a_process_in_time_keeps_its_deadline(self, wire):
        process = submit("toy_dated", subject="Toy 1", input={}, deadline_at=LATER)
        sweep()
        wire.run_until_idle()
        process.refresh_from_db()
        assert (process.state, process.deadline_at) == ("processed", LATER)
        assert Alert.objects.count() == 0
