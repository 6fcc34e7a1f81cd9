"""The process aggregate: what each transition does to rows, journal and alerts."""

from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.exceptions import StateError
from workers.rules.transitions import LockedProcess


class Longest(Random):
    def uniform(self, low: float, high: float) -> float:
        return high


def compensating(*steps: Any) -> LockedProcess:
    locked = a_process(*steps, state="compensating")
    locked.process.outcome = "compensated"
    return locked


def test_leaving_processing_ends_the_claim_and_journals_it():
    step = a_step("a")
    locked = a_process(step)
    locked.move(step, "processed", "processed", "scheduler", public=True)

    assert (step.claim_id, step.locked_by, step.started_at, step.complete_by) == (None,) * 4
    (entry,) = locked.entries
    assert (entry.before, entry.after, entry.attempt, entry.sequence) == (
        "processing", "processed", 1, 6
    )  # fmt: skip
    assert entry.detail["locked_by"] == "agent@test"


@pytest.mark.parametrize("after", ["pending", "processed"])
def test_a_move_that_is_not_legal_changes_nothing(after):
    step = a_step("a", "cancelled")
    locked = a_process(step)

    with pytest.raises(StateError, match=f"Step a is cancelled and cannot become {after}"):
        locked.move(step, after, "moved", "ann")
    with pytest.raises(StateError, match="cannot be claimed"):
        locked.claim(step, "agent@test", uuid4())
    with pytest.raises(StateError, match="Process 1 is processing and cannot become pending"):
        locked.move_process("pending", "moved", "ann")
    assert (step.state, locked.entries, locked.step_origins) == ("cancelled", [], {})


def test_a_claim_begins_the_process_and_starts_the_step():
    due = NOW - timedelta(seconds=7)
    step = a_step("a", "pending", not_before=due, began_at=NOW, timeout_seconds=40)
    locked, delivery = a_process(step, state="pending"), uuid4()
    locked.claim(step, "agent@test", delivery)

    assert (step.state, step.attempt, step.is_at_work) == ("processing", 1, True)
    assert (step.locked_by, step.delivery) == ("agent@test", delivery)
    assert (step.started_at, step.complete_by) == (NOW, NOW + timedelta(seconds=40))
    assert step.may_have_effect
    # Waiting for room takes nothing of its time.
    assert step.began_at == NOW + timedelta(seconds=7)
    assert (locked.process.state, locked.process.started_at) == ("processing", NOW)
    assert [entry.event for entry in locked.entries] == ["started", "claimed"]


def test_the_first_claim_begins_the_time_of_a_step():
    step = a_step("a", "pending")
    a_process(step).claim(step, "agent@test", uuid4())

    assert step.began_at == NOW


def test_a_released_claim_is_pending_again_unless_its_process_compensates():
    forward, given_up = a_step("a"), a_step("a")
    assert a_process(forward).release(forward, "handed_back", "agent")
    assert not compensating(given_up).release(given_up, "handed_back", "agent")

    assert (forward.state, given_up.state) == ("pending", "cancelled")


@pytest.mark.parametrize(
    ("columns", "fault", "state", "delay"),
    [
        ({}, {}, "pending", 2),
        ({"failure_count": 1}, {}, "pending", 4),
        ({}, {"retry_after": 60}, "pending", 60),
        ({"failure_count": 2}, {}, "error", None),
        ({"began_at": NOW - timedelta(seconds=9), "total_seconds": 10}, {}, "error", None),
    ],
)
def test_a_failure_is_tried_again_until_its_attempts_or_its_time_are_over(
    columns, fault, state, delay
):
    step = a_step("a", **columns)
    locked = a_process(step)
    counted = step.failure_count + 1

    is_over = locked.fail(step, "failed", "scheduler", a_fault("transient", **fault), Longest())

    assert (step.state, step.failure_count, is_over) == (state, counted, state == "error")
    assert step.is_in_doubt
    assert step.not_before == (None if delay is None else NOW + timedelta(seconds=delay))


def test_a_last_failure_is_in_error_whatever_the_threshold():
    step = a_step("a", failure_threshold=9)

    assert a_process(step).fail(step, "failed", "scheduler", a_fault("transient"), is_last=True)
    assert step.state == "error"


def test_a_failure_on_the_way_back_is_not_tried_again():
    step = a_step("a")

    assert not compensating(step).fail(step, "failed", "scheduler", a_fault("transient"))
    assert (step.state, step.is_in_doubt) == ("cancelled", True)


def test_a_row_is_written_by_what_it_was_before_its_first_move():
    step = a_step("a")
    claim_id, locked = step.claim_id, a_process(step)
    locked.move(step, "pending", "handed_back", "agent")
    locked.claim(step, "agent@test", uuid4())
    locked.move_process("error", "error", "scheduler")
    locked.move_process("processing", "resumed", "ann")

    origin = locked.step_origins[step.id]
    assert (origin.state, origin.claim_id, origin.is_started) == ("processing", claim_id, True)
    assert locked.process_origin == "processing"


def test_a_step_is_ready_once_everything_before_it_is_settled():
    first, second = a_step("a"), a_step("b", "skipped")
    third, fourth = a_step("c", "waiting", after=("b",)), a_step("d", "waiting", after=("a", "b"))
    locked = a_process(first, second, third, fourth)
    assert locked.ready_forward_steps() == [third]

    first.state = "processed"
    assert locked.ready_forward_steps() == [third, fourth]


def test_there_is_one_alert_for_a_step_and_a_code():
    step = a_step("a")
    locked = a_process(step)
    locked.alert("undo_stuck", step)
    locked.alert("deadline_passed", is_counted=False)

    assert [(alert.cause, alert.is_counted) for alert in locked.alerts] == [
        ("undo_stuck:process:1:a", True),
        ("deadline_passed:process:1", False),
    ]
