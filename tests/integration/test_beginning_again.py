"""Resubmitting from an earlier step: what is undone, done again, refused."""

import pytest

from tests.integration.conftest import begin, only, reread, rows
from tests.toyflow import agents as toy
from tests.toyflow.faults import refuse
from workers import scheduler
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import StateError
from workers.models import Alert, Process, Step
from workers.ops import invariants
from workers.testing import pass_time
from workers.testing.agent_processes import CALL, REPLY


class TestBeginningAgain:
    """Resubmitting from an earlier step undoes it and what came after it first."""

    @pytest.fixture
    def stopped(self, wire) -> Process:
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        toy.script.clear()
        return process

    @pytest.mark.usefixtures("same_material")
    def test_everything_from_there_on_is_undone_once_and_done_again(self, stopped, wire):
        keys = {step.name: step.idempotency_key for step in stopped.steps.all()}
        operations.begin_again(stopped.pk, "top", actor="ann", reason="wrong colour")
        wire.run_until_idle()

        stopped.refresh_from_db()
        assert (stopped.state, stopped.outcome, stopped.renews) == ("processed", None, [])
        assert toy.undone == [("undo_right", keys["right"]), ("undo_top", keys["top"])]
        assert toy.calls["toy.alpha"] == [keys["top"], keys["top"][:-1] + "2"]
        assert only(stopped, "undo_top").state == "processed"
        assert invariants.violations() == []

    def test_one_branch_begins_again_and_the_rest_stays(self, stopped, wire):
        operations.begin_again(stopped.pk, "right", actor="ann", reason="")
        wire.run_until_idle()

        stopped.refresh_from_db()
        # The other branch's failure still needs somebody: decided at the next look.
        wire.run_until_idle()
        assert reread(stopped).state == "error"
        assert [name for name, _ in toy.undone] == ["undo_right"]
        assert len(toy.calls["toy.alpha"]) == 1
        operations.resubmit(stopped.pk, actor="ann", reason="")
        wire.run_until_idle()
        assert reread(stopped).state == "processed"
        assert invariants.violations() == []

    def test_it_can_begin_again_twice_and_then_be_undone(self, stopped, wire):
        toy.script["toy.beta"] = refuse
        for _ in range(2):
            operations.begin_again(stopped.pk, "top", actor="ann", reason="")
            wire.run_until_idle()
        operations.undo(stopped.pk, outcome="cancelled", actor="ann", reason="enough")
        wire.run_until_idle()

        assert reread(stopped).state == "cancelled"
        undone = [name for name, _ in toy.undone if name.startswith("undo_top")]
        assert undone == ["undo_top", "undo_top_2", "undo_top_3"]
        assert len({key for _, key in toy.undone}) == len(toy.undone)
        assert invariants.violations() == []

    def test_what_fails_beside_it_meanwhile_is_decided_on_afterwards(self, wire):
        toy.script["toy.beta"] = refuse
        process = submit("toy_undoable", subject="Toy 1", input={})
        begin(wire)
        for task in (CALL, REPLY, CALL):
            wire.deliver_all(task)
        replies = wire.of(REPLY)
        wire.drop_all()
        operations.begin_again(process.pk, "right", actor="ann", reason="")
        for message in replies:
            wire.deliver(message)
        toy.script.clear()
        for _ in range(3):
            wire.run_until_idle()

        assert reread(process).state == "error"
        assert Alert.objects.filter(process=process, code="process_error").count() == 1
        assert invariants.violations() == []

    def test_an_alert_that_was_acknowledged_is_raised_anew(self, stopped, wire):
        Alert.objects.update(acknowledged_at="2026-01-01T00:00:00Z")
        operations.begin_again(stopped.pk, "right", actor="ann", reason="")
        for _ in range(3):
            wire.run_until_idle()

        assert reread(stopped).state == "error"
        assert Alert.objects.filter(acknowledged_at=None).count() == 1

    def test_an_early_answer_of_the_former_use_is_forgotten(self, wire):
        toy.script["toy.gamma"] = refuse
        process = submit("toy_answered", subject="Toy 1", input={})
        wire.run_until_idle()
        Step.objects.filter(process=process, name="ask").update(early={"result": {"old": True}})
        operations.begin_again(process.pk, "first", actor="ann", reason="")
        wire.run_until_idle()
        assert only(process, "ask").early is None

    def test_an_effect_that_nothing_undoes_forbids_it(self, wire):
        toy.script["toy.beta"] = refuse
        process = submit("toy_line", subject="Toy 1", input={})
        wire.run_until_idle()
        before = rows()

        with pytest.raises(StateError, match="nothing undoes one"):
            operations.begin_again(process.pk, "one", actor="ann", reason="")
        assert rows() == before

    def test_it_is_refused_past_the_point_of_no_return(self, wire):
        process = submit("toy_undoable", subject="Toy 1", input={})
        wire.run_until_idle()
        process.refresh_from_db()
        with pytest.raises(StateError):
            operations.begin_again(process.pk, "top", actor="ann", reason="")

    @pytest.mark.parametrize("name", ["bottom", "nothing"])
    def test_a_step_that_has_not_begun_cannot_begin_again(self, stopped, name):
        before = rows()
        with pytest.raises(StateError):
            operations.begin_again(stopped.pk, name, actor="ann", reason="")
        assert rows() == before

    @pytest.mark.fault("F39")
    def test_a_crash_on_the_way_back_is_made_good(self, stopped, wire):
        operations.begin_again(stopped.pk, "top", actor="ann", reason="")
        scheduler.advance()
        wire.drop_all()
        pass_time(20)
        wire.run_until_idle()

        assert reread(stopped).state == "processed"
        assert invariants.violations() == []

    def test_a_stuck_undo_stops_it_and_a_resubmission_carries_on(self, stopped, wire):
        toy.script["toy.undoer"] = refuse
        operations.begin_again(stopped.pk, "top", actor="ann", reason="")
        wire.run_until_idle()
        assert reread(stopped).state == "error"
        toy.script.clear()
        operations.resubmit(stopped.pk, actor="ann", reason="")
        wire.run_until_idle()

        assert reread(stopped).state == "processed"
        assert invariants.violations() == []
