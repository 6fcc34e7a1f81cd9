"""What replies, failures and operators lead to, without a database."""

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.rules import apply_reply
from workers.rules.rows import StepRow


def a_reply(step: StepRow, fault: FaultRecord | None = None, **other: Any) -> Reply:
    result = {"done": True} if fault is None else None
    values: dict[str, Any] = {
        "step_id": step.id,
        "claim_id": step.claim_id,
        "attempt": step.attempt,
        "result": result,
        "fault": fault,
    }
    return Reply(**{**values, **other})


def a_fault(kind: str, code: str = "x", **other: Any) -> FaultRecord:
    return FaultRecord(kind, code, "it said no", **other)


def _claimed(step: StepRow) -> None:
    """Give a step that was parked its next claim."""
    step.state, step.claim_id = "processing", uuid4()
    step.started_at = NOW


def test_a_result_settles_its_step_and_ends_the_claim():
    step = a_step()
    locked = a_process(step)

    assert apply_reply.apply_reply(locked, a_reply(step), "scheduler")

    assert (step.state, step.result, step.finished_at) == ("processed", {"done": True}, NOW)
    assert (step.claim_id, step.locked_by, step.started_at, step.complete_by) == (None,) * 4
    assert step.may_have_effect
    assert locked.entries[0].detail["locked_by"] == "agent@test"


@pytest.mark.parametrize("state", ["waiting", "pending", "processed", "error", "skipped"])
def test_a_reply_to_a_step_without_a_claim_changes_nothing(state):
    step = a_step(state=state)
    before = repr(step)
    locked = a_process(step)

    assert not apply_reply.apply_reply(locked, a_reply(step, claim_id=uuid4()), "scheduler")

    assert repr(step) == before
    assert (locked.entries, locked.alerts, locked.step_origins) == ([], [], {})


def test_a_reply_to_a_superseded_claim_changes_nothing():
    step = a_step()
    before = repr(step)
    locked = a_process(step)

    assert not apply_reply.apply_reply(locked, a_reply(step, claim_id=uuid4()), "scheduler")

    assert repr(step) == before
    assert locked.step_origins == {}


def test_a_reply_that_holds_is_accepted_however_late_it_is_read():
    step = a_step(complete_by=NOW - timedelta(hours=1), started_at=NOW - timedelta(hours=2))

    assert apply_reply.apply_reply(a_process(step), a_reply(step), "scheduler")

    assert step.state == "processed"


def test_a_transient_fault_below_the_threshold_is_tried_again_after_a_backoff():
    step = a_step(failure_count=1, failure_threshold=3)
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step, a_fault("transient")), "scheduler", Random(1))

    assert (step.state, step.failure_count, step.is_in_doubt) == ("pending", 2, True)
    assert step.not_before is not None
    assert NOW <= step.not_before <= NOW + timedelta(seconds=4)
    assert locked.process.state == "processing"
    assert locked.alerts == []


def test_a_transient_fault_at_the_threshold_is_an_error_with_one_alert():
    step = a_step(failure_count=2, failure_threshold=3)
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step, a_fault("transient")), "scheduler")

    assert (step.state, step.failure_count) == ("error", 3)
    assert locked.process.state == "error"
    assert [alert.code for alert in locked.alerts] == ["process_error"]


def test_unavailable_counts_no_failure():
    step = a_step(failure_count=2, failure_threshold=3, unavailable_count=40)
    locked = a_process(step)

    fault = a_fault("unavailable", retry_after=120, no_effect=True)
    apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")

    assert (step.state, step.failure_count, step.unavailable_count) == ("pending", 2, 41)
    assert not step.may_have_effect
    assert step.not_before is not None
    assert step.not_before >= NOW + timedelta(seconds=120)
    assert locked.alerts == []


@pytest.mark.parametrize("code", ["credentials_refused", "address_wrong"])
@pytest.mark.parametrize("on_failure", ["error", "compensate", "ask"])
def test_step_refused_alone_goes_to_an_operator_at_its_threshold(code, on_failure):
    step = a_step(failure_threshold=3, on_failure=on_failure)
    states = []
    # The first refusal may be the first of an outage, whatever came before it.
    for others_pass in (True, False, True, False, True):
        _claimed(step)
        locked = a_process(step)
        reply = a_reply(step, a_fault("unavailable", code=code))
        apply_reply.apply_reply(locked, reply, "scheduler", others_pass=others_pass)
        states.append(step.state)

    assert states == ["pending"] * 4 + ["error"]
    assert step.failure_count == 0
    assert locked.process.state == "error"
    assert [alert.code for alert in locked.alerts] == ["process_error"]


def test_step_refused_with_all_others_waits_for_as_long_as_it_takes():
    step = a_step(failure_threshold=1, on_failure="compensate")
    for _ in range(50):
        _claimed(step)
        locked = a_process(step)
        fault = a_fault("unavailable", code="credentials_refused")
        apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")

    assert (step.state, step.failure_count, locked.alerts) == ("pending", 0, [])


def test_doubt_of_a_step_that_was_refused_with_all_others_undoes_nothing():
    step = a_step(on_failure="compensate", key_retention_seconds=60, key_used_at=NOW)
    locked = a_process(step)
    fault = a_fault("unavailable", code="credentials_refused")
    apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")
    locked.now = NOW + timedelta(days=2)

    assert apply_reply.give_up_doubtful(locked, step, "scheduler")
    apply_reply.carry_out_policies(locked, "scheduler")

    assert (locked.process.state, step.fault and step.fault.code) == ("error", "key_expired")
    assert [alert.code for alert in locked.alerts] == ["process_error"]


def test_unavailable_leaves_an_earlier_doubt_standing():
    step = a_step(is_in_doubt=True)

    apply_reply.apply_reply(a_process(step), a_reply(step, a_fault("unavailable")), "scheduler")

    assert step.may_have_effect


def test_a_permanent_fault_is_an_error_at_once():
    step = a_step(failure_count=0, failure_threshold=3)
    locked = a_process(step)

    fault = a_fault("permanent", no_effect=True)
    apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")

    assert (step.state, step.failure_count) == ("error", 0)
    assert not step.may_have_effect
    assert locked.process.state == "error"
    assert [(e.event, e.after) for e in locked.entries] == [
        ("refused", "error"),
        ("error", "error"),
    ]
    assert len(locked.alerts) == 1


def test_a_later_refusal_does_not_clear_an_earlier_doubt():
    step = a_step(is_in_doubt=True, fallbacks=[{"agent": "toy.beta"}])
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step, a_fault("permanent")), "scheduler")

    assert step.may_have_effect
    assert (step.state, step.agent) == ("error", "toy.alpha")


def test_a_refused_step_goes_to_its_fallback_agent():
    step = a_step(fallbacks=[{"agent": "toy.beta"}, {"agent": "toy.gamma"}], failure_count=2)
    locked = a_process(step)

    fault = a_fault("permanent", no_effect=True)
    apply_reply.apply_reply(locked, a_reply(step, fault), "scheduler")

    assert (step.state, step.agent, step.spec.fallbacks) == (
        "pending",
        "toy.beta",
        ({"agent": "toy.gamma"},),
    )
    assert (step.failure_count, step.not_before) == (0, NOW)
    assert locked.process.state == "processing"
    assert locked.alerts == []


def test_a_step_that_may_have_had_its_effect_never_falls_back():
    step = a_step(fallbacks=[{"agent": "toy.beta"}], failure_count=2, failure_threshold=3)
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step, a_fault("transient")), "scheduler")

    assert (step.state, step.agent) == ("error", "toy.alpha")
    assert locked.process.state == "error"


def test_an_optional_step_is_skipped_with_an_alert():
    step = a_step(is_optional=True)
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step, a_fault("permanent")), "scheduler")
    apply_reply.finish(locked, "scheduler")

    assert step.state == "skipped"
    assert locked.process.state == "processed"
    assert [alert.code for alert in locked.alerts] == ["step_skipped"]


def test_a_step_is_ready_once_all_before_it_are_settled():
    left, right = a_step("left", "processed", result={}), a_step("right")
    bottom = a_step("bottom", "waiting", after=["left", "right"])
    locked = a_process(left, right, bottom)

    assert apply_reply.ready_steps(locked, "scheduler") == []

    right.state = "skipped"
    assert apply_reply.ready_steps(locked, "scheduler") == [bottom]


def test_nothing_new_begins_while_the_process_is_in_error():
    locked = a_process(a_step("a", "processed"), a_step("b", "waiting", after=["a"]), state="error")

    assert apply_reply.ready_steps(locked, "scheduler") == []


def test_a_process_with_an_open_step_is_not_finished():
    locked = a_process(a_step("a", "processed"), a_step("b"))

    apply_reply.finish(locked, "scheduler")

    assert locked.process.state == "processing"
    assert locked.entries == []


@pytest.mark.parametrize(
    ("before", "is_ready"),
    [
        ("processed", True),
        ("skipped", True),
        *((state, False) for state in ("waiting", "pending", "processing", "error", "cancelled")),
    ],
)
def test_only_what_is_settled_lets_the_next_step_begin(before, is_ready):
    last = a_step("last", "waiting", after=["one", "other"])
    locked = a_process(a_step("one", "processed"), a_step("other", before), last)
    if before == "waiting":
        other = locked.named("other")
        other.spec = replace(other.spec, after=("last",))

    assert (last in apply_reply.ready_steps(locked, "scheduler")) == is_ready


def test_a_refused_optional_step_is_skipped_and_no_other_agent_is_asked():
    step = a_step(is_optional=True, fallbacks=[{"agent": "toy.beta"}])
    locked = a_process(step)

    apply_reply.apply_fault(locked, step, a_fault("refused"), "scheduler", None)

    assert (step.state, step.agent) == ("skipped", "toy.alpha")


def test_a_refusal_that_was_left_to_be_decided_on_undoes_the_process():
    # It came while other steps were undone, to begin again.
    step = a_step("one", "error", fault=a_fault("refused"))
    locked = a_process(step)

    apply_reply.carry_out_policies(locked, "scheduler")

    assert (locked.process.state, locked.process.outcome) == ("compensating", "compensated")
    assert locked.alerts == []
