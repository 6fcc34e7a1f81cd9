"""The next agent: at once where nothing can have happened, else once that is undone."""

from typing import Any

import pytest

from tests.unit.build import a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.rules import apply_reply, evidence, on_failure, restart
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

UNDO = {"name": "cancel", "agent": "house.cancel"}
NEXT = {"agent": "courier.book", "undo_agent": "courier.cancel"}


def failed(**columns: Any) -> StepRow:
    usual = {
        "fault": a_fault("permanent"),
        "idempotency_key": "stem:0:1",
        "fallbacks": [NEXT],
        "undo": UNDO,
        "may_have_effect": True,
        "is_in_doubt": True,
        "on_failure": "compensate",
    }
    return a_step("book", "error", **(usual | columns))


def carried_out(step: StepRow, *others: StepRow, **process: Any) -> LockedProcess:
    locked = a_process(step, *others, **process)
    on_failure.carry_out(locked, step, "scheduler")
    return locked


def test_what_is_possible_is_undone_first_and_alone():
    step = failed()
    beside = a_step("invoice", "processed", undo=UNDO, may_have_effect=True)
    locked = carried_out(step, beside)

    assert (locked.process.state, locked.process.outcome) == ("compensating", "processing")
    assert [one.forward.name for one in locked.planned] == ["book"]
    # Undone by who may have done it, under the key it was asked with.
    assert (locked.planned[0].agent, step.idempotency_key) == ("house.cancel", "stem:0:1")
    assert (step.agent, beside.state) == ("toy.alpha", "processed")
    assert locked.alerts == []


def test_once_that_is_undone_the_next_agent_begins():
    step = failed()
    locked = carried_out(step)
    undo = a_step("cancel", undoes_id=step.id)
    locked.steps.append(undo)
    apply_reply.apply_result(locked, undo, {}, "scheduler")
    restart.finish(locked, "scheduler")

    assert (locked.process.state, locked.process.outcome) == ("processing", None)
    assert (step.state, step.agent, step.spec.fallbacks) == ("waiting", "courier.book", ())
    assert (step.idempotency_key, step.spec.undo) == (
        "stem:0:2",
        {
            **UNDO,
            "agent": "courier.cancel",
            "effect": None,
            "key_retention_seconds": None,
            "per_key": None,
        },
    )
    assert evidence.of(step) == "none"
    assert apply_reply.ready_steps(locked, "scheduler") == [step]


def test_a_step_that_begins_again_keeps_its_agent():
    step = failed(fault=None)
    step.state = "processed"
    locked = a_process(step)
    restart.begin(locked, "book", "operator:ann", "")
    undo = a_step("cancel", undoes_id=step.id)
    locked.steps.append(undo)
    apply_reply.apply_result(locked, undo, {}, "scheduler")
    restart.finish(locked, "scheduler")

    assert (step.state, step.agent, step.spec.fallbacks) == ("waiting", "toy.alpha", [NEXT])


def test_an_undo_that_is_stuck_holds_the_next_agent_back():
    step = failed()
    locked = carried_out(step)
    locked.steps.append(a_step("cancel", "error", undoes_id=step.id))
    restart.finish(locked, "scheduler")
    apply_reply.finish(locked, "scheduler")

    assert (locked.process.state, step.state, step.agent) == ("error", "error", "toy.alpha")


@pytest.mark.parametrize(
    "columns", [{"undo": None}, {"undo": {"name": "cancel", "agent": None}}], ids=["none", "null"]
)
def test_without_an_undo_the_policy_follows(columns):
    step = failed(on_failure="error", **columns)
    locked = carried_out(step)

    assert (locked.process.state, step.agent) == ("error", "toy.alpha")
    assert [alert.code for alert in locked.alerts] == ["process_error"]


def test_nothing_is_undone_past_the_point_of_no_return():
    step, last = failed(), a_step("last", "processed")
    locked = a_process(step, last)
    locked.process.no_return = ["last"]
    on_failure.carry_out(locked, step, "scheduler")

    assert (locked.process.state, locked.planned) == ("error", [])


def test_at_once_where_nothing_can_have_happened():
    step = failed(may_have_effect=False, is_in_doubt=False)
    locked = carried_out(step)

    assert (step.state, step.agent, locked.planned) == ("pending", "courier.book", [])
