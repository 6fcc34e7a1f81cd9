"""What follows when a step has failed for good, on rows in memory."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.protocol.faults import FaultRecord
from workers.rules import on_failure
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

NEXT = {"agent": "toy.beta", "failure_threshold": 5, "effect": "queryable"}


def failed(name: str = "a", **columns: Any) -> StepRow:
    usual = {"fault": a_fault("permanent"), "idempotency_key": "stem:0:1", "failure_count": 3}
    return a_step(name, "error", **(usual | columns))


def codes(locked: LockedProcess) -> list[str]:
    return [alert.code for alert in locked.alerts]


def test_default_policy_puts_process_in_error_and_raises_alert():
    locked = a_process(failed())
    on_failure.carry_out(locked, locked.steps[0], "scheduler")

    assert (locked.process.state, codes(locked)) == ("error", ["process_error"])
    assert locked.entries[-1].detail["reason"] == "it said no"


def test_a_process_that_failed_before_it_began_is_begun_first():
    locked = a_process(failed(), state="pending")
    on_failure.carry_out(locked, locked.steps[0], "scheduler")

    assert [entry.event for entry in locked.entries] == ["started", "error"]


def test_the_next_agent_is_asked_where_nothing_can_have_happened():
    step = failed(fallbacks=[NEXT], on_failure="compensate", is_optional=True)
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.state, step.agent, step.spec.fallbacks) == ("pending", "toy.beta", ())
    assert (step.failure_count, step.failure_threshold, step.spec.effect) == (0, 5, "queryable")
    # Another service, another key.
    assert step.idempotency_key == "stem:0:2"
    assert codes(locked) == []


def test_no_other_agent_is_asked_where_the_first_may_have_acted():
    step = failed(fallbacks=[NEXT], may_have_effect=True)
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.agent, locked.process.state) == ("toy.alpha", "error")


def test_step_whose_condition_failed_does_not_fall_back():
    step = failed(fallbacks=[NEXT], fault=FaultRecord("permanent", on_failure.CONDITION_FAILED))
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.agent, locked.process.state) == ("toy.alpha", "error")


def test_an_optional_step_is_skipped_and_told():
    step = failed(is_optional=True)
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.state, locked.process.state) == ("skipped", "processing")
    assert codes(locked) == ["step_skipped"]


def test_a_long_wait_gives_the_attempts_back():
    step = failed(on_failure="wait", wait_seconds=3600)
    on_failure.carry_out(a_process(step), step, "scheduler")

    assert (step.state, step.failure_count) == ("pending", 0)
    assert step.not_before == NOW + timedelta(hours=1)


def test_a_step_that_asks_leaves_the_process_as_it_is():
    step = failed(on_failure="ask")
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.state, locked.process.state) == ("error", "processing")
    assert codes(locked) == ["decision_needed"]


def test_compensating_is_told_and_not_done_past_the_point_of_no_return():
    locked = a_process(failed(on_failure="compensate"))
    on_failure.carry_out(locked, locked.steps[0], "scheduler")
    assert (locked.process.state, codes(locked)) == ("compensating", ["process_compensating"])

    passed = a_process(failed(on_failure="compensate"), a_step("b", "processed"))
    passed.process.no_return = ["b"]
    on_failure.carry_out(passed, passed.steps[0], "scheduler")
    assert (passed.process.state, codes(passed)) == ("error", ["process_error"])


def test_a_failed_undo_has_an_alert_of_its_own():
    undo = failed("undo_a", undoes_id=7)
    locked = a_process(undo, state="compensating")
    locked.process.outcome = "compensated"
    on_failure.carry_out(locked, undo, "scheduler")

    assert (locked.process.state, codes(locked)) == ("compensating", ["undo_stuck"])


def test_a_forward_step_that_fails_on_the_way_back_is_nobodys_concern():
    locked = a_process(failed(), state="compensating")
    locked.process.outcome = "compensated"
    on_failure.carry_out(locked, locked.steps[0], "scheduler")

    assert (locked.entries, locked.alerts) == ([], [])


def test_a_refusal_of_the_business_is_undone_and_wakes_nobody():
    step = failed(fault=a_fault("refused"), fallbacks=[NEXT])
    locked = a_process(step)
    on_failure.carry_out(locked, step, "scheduler")

    assert (locked.process.state, locked.process.outcome) == ("compensating", "compensated")
    assert (codes(locked), step.agent) == ([], "toy.alpha")


@pytest.mark.parametrize(
    ("is_optional", "state", "code"),
    [(True, "skipped", "step_skipped"), (False, "error", "process_error")],
)
def test_a_refusal_asks_no_other_agent(is_optional, state, code):
    step = failed(fault=a_fault("refused"), fallbacks=[NEXT], is_optional=is_optional)
    locked = a_process(step, state="error")
    on_failure.carry_out(locked, step, "scheduler")

    assert (step.state, step.agent, codes(locked)) == (state, "toy.alpha", [code])


@pytest.mark.parametrize(
    ("on_deadline", "no_return", "state"),
    [
        ("compensate", [], "compensating"),
        ("alert", [], "processing"),
        ("compensate", ["b"], "processing"),
    ],
)
def test_a_deadline_that_passes_is_told_once(on_deadline, no_return, state):
    locked = a_process(a_step("a"), a_step("b", "processed"))
    locked.process.deadline_at = NOW - timedelta(seconds=1)
    locked.process.on_deadline, locked.process.no_return = on_deadline, no_return

    on_failure.carry_out_deadline(locked, "scheduler")
    on_failure.carry_out_deadline(locked, "scheduler")

    assert (locked.process.state, locked.process.deadline_at) == (state, None)
    assert codes(locked) == ["deadline_passed"]
