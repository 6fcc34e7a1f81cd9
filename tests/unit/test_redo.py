"""Doing a skipped step again, on rows in memory."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.exceptions import StateError
from workers.protocol.faults import FaultRecord
from workers.rules import compensation, evidence, operator_commands, restart
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

ANN = "operator:ann"


def skipped(name: str = "mail", **columns: Any) -> StepRow:
    columns = {"attempt": 1, "failure_count": 1, "fault": a_fault("permanent"), **columns}
    return a_step(name, "skipped", **{"is_optional": True, "after": ("a",), **columns})


def doubtful(name: str = "mail", **columns: Any) -> StepRow:
    return skipped(
        name, **{"effect": "unsafe", "may_have_effect": True, "is_in_doubt": True, **columns}
    )


def redo(locked: LockedProcess, name: str = "mail", **given: Any) -> None:
    operator_commands.redo(locked, name, ANN, "the server is back", **given)


def test_it_has_its_attempts_back_and_the_open_process_stays_as_it_is():
    mail = skipped()
    locked = a_process(a_step("a", "processed"), mail, a_step("b", "waiting", after=("mail",)))

    redo(locked)

    assert (mail.state, mail.failure_count, mail.attempt, mail.not_before) == ("pending", 0, 1, NOW)
    (entry,) = locked.entries
    assert (entry.event, entry.before, entry.after) == ("resubmitted", "skipped", "pending")
    assert entry.detail["reason"] == "the server is back"
    # What comes after it waits for it once more.
    assert locked.ready_forward_steps() == []


def test_redo_makes_unbegun_successor_wait_and_begun_successor_go_on():
    """Whoever skips a charge by mistake does not ship beside it."""
    behind = {"state": "pending", "after": ("mail",), "not_before": NOW}
    # A claim that was lost before anybody called has begun nothing.
    later, begun = a_step("b", attempt=1, **behind), a_step("c", began_at=NOW, **behind)
    beside = a_step("d", "pending", not_before=NOW)
    locked = a_process(a_step("a", "processed"), skipped(), later, begun, beside)

    redo(locked)

    assert [step.state for step in (later, begun, beside)] == ["waiting", "pending", "pending"]
    assert (later.not_before, begun.not_before) == (None, NOW)
    assert [(e.event, e.before, e.after) for e in locked.entries] == [
        ("resubmitted", "skipped", "pending"),
        ("resubmitted", "pending", "waiting"),
    ]
    assert locked.ready_forward_steps() == []


def test_of_two_that_follow_each_other_the_second_waits_for_the_first():
    first, second = skipped("a", after=()), skipped("b", effect="unsafe")
    second.spec = replace(second.spec, after=("a",))
    third = a_step("c", "pending", after=("b",))
    locked = a_process(first, second, third)

    redo(locked, "b")
    assert [step.state for step in locked.steps] == ["skipped", "pending", "waiting"]
    redo(locked, "a")
    assert [step.state for step in locked.steps] == ["pending", "waiting", "waiting"]

    first, second = skipped("a", after=()), skipped("b")
    second.spec = replace(second.spec, after=("a",))
    locked = a_process(second, first, state="processed")
    operator_commands.redo_left_out(locked, ANN, "back")
    assert (first.state, second.state) == ("pending", "waiting")

    # It is one move where the first is under way already.
    first, second = a_step("a"), skipped("b")
    second.spec = replace(second.spec, after=("a",))
    locked = a_process(first, second)
    redo(locked, "b")
    assert [(e.before, e.after) for e in locked.entries] == [("skipped", "waiting")]


def test_redo_holds_back_steps_that_follow_settled_successors():
    settled = [a_step("b", "skipped", after=("mail",)), a_step("c", "processed", after=("b",))]
    behind = a_step("d", "pending", after=("c",))
    mail = skipped()
    locked = a_process(a_step("a", "processed"), mail, *settled, behind)

    redo(locked)

    assert behind.state == "waiting"
    assert locked.ready_forward_steps() == []
    mail.state = "processed"
    assert locked.ready_forward_steps() == [behind]


def test_a_processed_process_goes_on_for_it_and_is_never_undone():
    mail = skipped()
    locked = a_process(a_step("a", "processed"), mail, state="processed")
    locked.process.finished_at = NOW
    locked.process.deadline_at = NOW - timedelta(hours=1)

    redo(locked)

    process = locked.process
    assert (process.state, process.finished_at, process.deadline_at) == ("processing", None, None)
    assert [(e.event, e.before, e.after) for e in locked.entries] == [
        ("resubmitted", "processed", "processing"),
        ("resubmitted", "skipped", "pending"),
    ]
    for undo in (
        lambda: compensation.begin(locked, "cancelled", ANN, "why"),
        lambda: restart.begin(locked, "a", ANN, "why"),
    ):
        with pytest.raises(StateError, match="past its point of no return"):
            undo()


@pytest.mark.parametrize(
    "state", ["waiting", "pending", "processing", "processed", "error", "cancelled", "compensated"]
)
def test_only_a_skipped_step_is_done_again(state):
    locked = a_process(a_step("mail", state))
    with pytest.raises(StateError, match=f"mail is {state}: only a skipped step"):
        redo(locked)
    assert locked.entries == []


@pytest.mark.parametrize("state", ["error", "compensating", "compensated", "cancelled"])
def test_it_is_refused_in_every_process_that_does_not_go_forward(state):
    mail = skipped()
    locked = a_process(mail, state=state)
    with pytest.raises(StateError, match=f"Toy 1 is {state}"):
        redo(locked)
    assert (mail.state, locked.entries) == ("skipped", [])


def test_an_undo_step_that_had_nothing_to_undo_is_not_done_again():
    locked = a_process(a_step("a", "processed"), a_step("undo_a", "skipped", undoes_id=1))
    with pytest.raises(StateError, match="has no step 'undo_a'"):
        redo(locked, "undo_a")


class TestConditions:
    """What its condition does not want is not done; where that is unknown it is asked again."""

    def test_a_step_whose_condition_was_false_is_refused(self):
        unwanted = a_step("mail", "skipped", is_judged=True)
        with pytest.raises(StateError, match="because its condition was false"):
            redo(a_process(unwanted, state="processed"))

    @pytest.mark.parametrize(
        ("columns", "state"),
        [
            # Skipped by an operator, or begun again and not wanted then: who knows.
            ({"fault": None, "attempt": 1}, "waiting"),
            ({"fault": FaultRecord("permanent", "condition_failed", "it raised")}, "waiting"),
            ({}, "pending"),
        ],
    )
    def test_redo_asks_condition_again_only_where_its_verdict_is_unknown(self, columns, state):
        mail = skipped(is_judged=True, **columns)
        redo(a_process(a_step("a", "processed"), mail, state="processed"))
        assert mail.state == state


def test_a_job_does_all_that_failed_again_or_nothing():
    chosen = a_step("gift", "skipped")
    locked = a_process(skipped(), skipped("sms"), chosen, state="processed")
    assert operator_commands.redo_left_out(locked, ANN, "back") == []
    assert [step.state for step in locked.steps] == ["pending", "pending", "skipped"]

    locked = a_process(skipped(), doubtful(name="sms"), state="processed")
    with pytest.raises(StateError, match="step sms happened"):
        operator_commands.redo_left_out(locked, ANN, "back")
    assert locked.entries == []
    assert operator_commands.redo_left_out(locked, ANN, "back", may_happen_twice=True) == ["sms"]

    with pytest.raises(StateError, match="no optional step of it failed"):
        operator_commands.redo_left_out(a_process(chosen, state="processed"), ANN, "back")


def test_a_job_does_several_again_that_could_be_undone_were_the_process_open():
    undo = {"name": "unsend", "agent": "toy.undoer"}
    mail, sms = doubtful(undo=undo), doubtful("sms", undo=undo)
    locked = a_process(mail, sms, state="processed")

    repeated = operator_commands.redo_left_out(locked, ANN, "back", may_happen_twice=True)

    assert repeated == ["mail", "sms"]
    assert (mail.state, sms.state) == ("pending", "pending")


class TestDoubt:
    """What may have happened is done again only where a person says that it may happen twice."""

    def test_redo_of_step_in_doubt_needs_may_happen_twice(self):
        mail = doubtful()
        locked = a_process(mail, state="processed")
        with pytest.raises(StateError, match="done again it may happen twice"):
            redo(locked)
        assert (mail.state, locked.entries) == ("skipped", [])

        redo(locked, may_happen_twice=True)

        assert mail.state == "pending"
        # It may be called again, and what it may have done is not forgotten.
        assert not mail.is_in_doubt
        assert evidence.of(mail) == evidence.Evidence.POSSIBLE
        assert locked.entries[-1].detail["may_happen_twice"] is True

    def test_a_call_that_its_service_tells_apart_needs_no_word(self):
        mail = doubtful(effect="idempotent")
        locked = a_process(mail, state="processed")
        redo(locked)
        assert mail.is_in_doubt
        assert "may_happen_twice" not in locked.entries[-1].detail

    def test_redo_of_step_without_effect_needs_no_confirmation(self):
        mail = skipped(effect="unsafe")
        redo(a_process(mail, state="processed"))
        assert mail.state == "pending"

    def test_what_can_be_undone_is_undone_first(self):
        undo = {"name": "unsend", "agent": "toy.undoer"}
        locked = a_process(a_step("a", "processed"), doubtful(undo=undo))
        with pytest.raises(StateError, match="begin again from it"):
            redo(locked, may_happen_twice=True)
        assert locked.entries == []
