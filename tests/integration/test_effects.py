"""After a call of unknown outcome: what each kind of effect of an agent allows."""

from datetime import UTC, datetime

import pytest

from tests.integration.conftest import begin, only, reread, start_and_lose
from tests.toyflow import agents as toy
from tests.toyflow.faults import be_away, fail
from workers import scheduler
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Deferred
from workers.exceptions import StateError
from workers.models import Alert, Process, Step
from workers.ops import invariants
from workers.supervisor import sweep
from workers.testing import Wire, pass_time
from workers.testing.agent_processes import CALL, REPLY

LATER = datetime(2126, 1, 1, tzinfo=UTC)


def lost_for_an_hour(workflow: str, wire: Wire) -> Process:
    """Have the first call of a process end without an answer, longer ago than keys are kept."""
    process = submit(workflow, subject="Toy 1", input={})
    start_and_lose(wire)
    pass_time(3700)
    wire.run_until_idle()
    scheduler.advance()
    return process


class TestEffects:
    """What happens after a call of unknown outcome depends on what the agent declares."""

    @pytest.mark.fault("F27")
    def test_what_can_be_asked_is_asked_before_a_second_call(self, wire):
        process = submit("toy_queried", subject="Toy 1", input={})
        start_and_lose(wire)
        toy.script["toy.asker?"] = lambda call: {"found": True}
        wire.run_until_idle()

        assert only(process, "pay").result == {"found": True}
        assert len(toy.calls["toy.asker"]) == 1
        assert toy.calls["toy.asker?"] == toy.calls["toy.asker"]

    def test_proof_that_nothing_happened_lets_it_be_called_again(self, wire):
        process = submit("toy_queried", subject="Toy 1", input={})
        start_and_lose(wire)
        wire.run_until_idle()

        assert only(process, "pay").state == "processed"
        assert len(toy.calls["toy.asker?"]) == 1
        assert len(toy.calls["toy.asker"]) == 2

    def test_step_in_doubt_is_not_called_again_while_probe_is_unanswered(self, wire):
        process = submit("toy_queried", subject="Toy 1", input={})
        start_and_lose(wire)
        toy.script["toy.asker?"] = be_away
        wire.run_until_idle()

        assert only(process, "pay").state == "pending"
        assert only(process, "pay").is_in_doubt
        assert len(toy.calls["toy.asker"]) == 1

    def test_a_first_call_is_not_asked_after(self, wire):
        submit("toy_queried", subject="Toy 1", input={})
        wire.run_until_idle()
        assert toy.calls["toy.asker?"] == []

    def test_a_key_the_service_has_forgotten_is_not_used_again(self, wire):
        process = lost_for_an_hour("toy_forgetful", wire)

        assert reread(process).state == "error"
        assert only(process, "pay").fault["code"] == "key_expired"
        assert len(toy.calls["toy.forgetful"]) == 1
        assert invariants.violations() == []

    def test_an_outage_takes_nothing_of_a_keys_retention(self, wire):
        toy.script["toy.forgetful"] = be_away
        process = submit("toy_forgetful", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(7200)
        toy.script["toy.forgetful"] = fail
        wire.run_until_idle()
        assert (only(process, "pay").state, only(process, "pay").failure_count) == ("pending", 1)

    def test_waiting_does_not_bring_a_forgotten_key_back(self, wire):
        process = lost_for_an_hour("toy_waits_in_vain", wire)

        assert reread(process).state == "error"
        assert Alert.objects.get().code == "process_error"

    def test_an_undo_does_not_use_a_forgotten_key_either(self, wire):
        process = submit("toy_forgetful_undo", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script["toy.forgetful"] = fail
        operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
        begin(wire)
        wire.deliver_all(CALL)
        wire.deliver_all(REPLY)
        assert len(toy.calls["toy.forgetful"]) == 1
        pass_time(4000)
        wire.run_until_idle()
        scheduler.advance()

        assert only(process, "unone").fault["code"] == "key_expired"
        assert len(toy.calls["toy.forgetful"]) == 1
        assert Alert.objects.filter(code="undo_stuck").exists()

    def test_within_its_retention_the_key_is_used_again(self, wire):
        process = submit("toy_forgetful", subject="Toy 1", input={})
        start_and_lose(wire)
        wire.run_until_idle()
        assert only(process, "pay").state == "processed"
        assert len(toy.calls["toy.forgetful"]) == 2

    def test_an_operator_must_say_that_nothing_happened(self, wire):
        process = lost_for_an_hour("toy_forgetful", wire)
        before = list(Step.objects.values())

        with pytest.raises(StateError, match="Nobody knows whether pay happened"):
            operations.resubmit(process.pk, actor="ann", reason="")
        assert list(Step.objects.values()) == before

        operations.resubmit(process.pk, actor="ann", reason="asked them", nothing_happened=True)
        wire.run_until_idle()
        assert reread(process).state == "processed"
        assert len(toy.calls["toy.forgetful"]) == 2

    def test_what_changes_nothing_outside_is_never_in_doubt(self, wire):
        toy.script["toy.quiet"] = lambda call: Deferred(within_seconds=60)
        process = submit("toy_event", subject="Toy 1", input={})
        wire.run_until_idle()
        pass_time(70)
        sweep()

        step = only(process, "arrives")
        assert (step.failure_count, step.may_have_effect, step.is_in_doubt) == (1, False, False)
