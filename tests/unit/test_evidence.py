"""What is known of an effect: what each end of a call leaves, and who asks."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault, a_reply
from workers.definitions.agent import Agent, Call, LocalAgent
from workers.exceptions import Permanent, Refused, Transient, Unavailable
from workers.http import fault_of_status
from workers.protocol.faults import FaultRecord
from workers.rules import apply_reply, compensation, evidence, fall_back, operator_commands
from workers.rules.evidence import Evidence
from workers.rules.rows import StepRow
from workers.states import SETTLED_STEP_STATES

UNDO = {"name": "undo", "agent": "toy.undo"}
HOUR_AGO = NOW - timedelta(hours=1)
KINDS = ["unavailable", "transient", "permanent", "refused"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_in_doubt", [False, True])
def test_a_fault_proves_nothing_by_its_kind(kind, is_in_doubt):
    step = a_step(key_used_at=HOUR_AGO, is_in_doubt=is_in_doubt, is_optional=True)

    apply_reply.apply_reply(a_process(step), a_reply(step, a_fault(kind)), "scheduler")

    assert (evidence.of(step), step.is_in_doubt) == (Evidence.POSSIBLE, True)
    assert step.key_used_at == HOUR_AGO


@pytest.mark.parametrize("kind", KINDS)
def test_proof_leaves_nothing_to_undo(kind):
    step = a_step(key_used_at=HOUR_AGO, is_optional=True)

    fault = a_fault(kind, no_effect=True)
    apply_reply.apply_reply(a_process(step), a_reply(step, fault), "scheduler")

    assert (evidence.of(step), step.key_used_at) == (Evidence.NONE, None)


@pytest.mark.parametrize("kind", KINDS)
def test_proof_of_one_call_says_nothing_of_an_earlier_one(kind):
    step = a_step(key_used_at=HOUR_AGO, is_in_doubt=True, is_optional=True)

    fault = a_fault(kind, no_effect=True)
    apply_reply.apply_reply(a_process(step), a_reply(step, fault), "scheduler")

    assert (evidence.of(step), step.key_used_at) == (Evidence.POSSIBLE, HOUR_AGO)


def test_what_changes_nothing_outside_is_never_possible():
    step = a_step(effect="none", may_have_effect=False)
    evidence.begin(step, NOW)
    apply_reply.apply_reply(a_process(step), a_reply(step, a_fault("transient")), "scheduler")

    assert evidence.of(step) == Evidence.NONE


def test_an_answer_is_certain_whatever_was_said_before():
    step = a_step(is_in_doubt=True)

    apply_reply.apply_reply(a_process(step), a_reply(step), "scheduler")

    assert (evidence.of(step), step.is_in_doubt) == (Evidence.CERTAIN, False)


@pytest.mark.parametrize("kind", ["unavailable", "permanent"])
def test_a_cancel_undoes_what_a_fault_left_possible(kind):
    step = a_step(undo=UNDO)
    locked = a_process(step)
    apply_reply.apply_reply(locked, a_reply(step, a_fault(kind)), "scheduler")

    plan = compensation.begin(locked, "cancelled", "operator:ann", "")

    assert [planned.name for planned in plan.undo] == ["undo"]


def _nothing(step: StepRow) -> None:
    pass


def _undone(step: StepRow) -> None:
    evidence.undone(step)
    step.state = "compensated"


@pytest.mark.parametrize(
    ("state", "columns", "act", "known"),
    [
        ("pending", {}, _nothing, Evidence.NONE),
        ("processing", {}, _nothing, Evidence.POSSIBLE),
        ("processed", {"may_have_effect": True}, _nothing, Evidence.CERTAIN),
        ("skipped", {"may_have_effect": True}, _nothing, Evidence.POSSIBLE),
        ("processed", {"may_have_effect": True}, _undone, Evidence.UNDONE),
        ("error", {"is_in_doubt": True}, evidence.nothing_happened, Evidence.NONE),
        ("pending", {}, lambda step: evidence.may_have_run(step, HOUR_AGO), Evidence.POSSIBLE),
        ("processing", {}, evidence.had_none, Evidence.NONE),
        ("processing", {}, evidence.ended_silent, Evidence.POSSIBLE),
    ],
)
def test_what_is_known(state, columns, act, known):
    step = a_step("a", state, **columns)
    act(step)

    assert evidence.of(step) == known
    assert evidence.is_none(step) == (known in (Evidence.NONE, Evidence.UNDONE))


def test_a_call_under_way_is_undone_whatever_its_row_says():
    assert evidence.needs_undo(a_step(may_have_effect=False))
    assert not evidence.needs_undo(a_step("a", "pending"))


def test_old_messages_prove_nothing():
    fault = FaultRecord.from_json({"kind": "permanent", "code": "x", "message": "y"})
    step = a_step()
    assert fault is not None
    evidence.ended_with(step, fault)

    assert evidence.of(step) == Evidence.POSSIBLE


class _Gateway(Agent):
    name = "gateway"
    proof = frozenset({402})

    def run(self, call: Call) -> None:
        raise NotImplementedError


class _Local(LocalAgent):
    name = "local"

    def run(self, call: Call) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("agent", "fault", "is_proof"),
    [
        (_Gateway(), fault_of_status("POST /x", 402, {}, None), True),
        (_Gateway(), fault_of_status("POST /x", 422, {}, None), False),
        (_Gateway(), fault_of_status("POST /x", 503, {}, None), False),
        (_Gateway(), Refused("declined", "no"), True),
        (_Gateway(), Refused("declined", "no", no_effect=False), False),
        (_Gateway(), Permanent("gone", "no"), False),
        (_Gateway(), Unavailable("away", "no", no_effect=True), True),
        (_Local(), Transient("agent_crashed", "oops"), True),
    ],
)
def test_an_agent_vouches_for_what_it_declares(agent, fault, is_proof):
    said = fault.no_effect
    record = FaultRecord.of(fault, is_proof=agent.vouches(fault))

    assert (record.no_effect is True) == is_proof
    # One error may be raised again and again, by several agents.
    assert fault.no_effect == said
    # Said on the wire only where it is so.
    assert ("no_effect" in record.to_json()) == is_proof


DONE: dict[str, Any] = {"may_have_effect": True, "result": {"paid": True}, "undo": UNDO}


@pytest.mark.parametrize(
    ("columns", "known"),
    [({}, Evidence.POSSIBLE), ({"is_by_hand": True}, Evidence.BY_HAND)],
    ids=["by a service", "by hand"],
)
def test_what_is_done_may_have_been_undone(columns, known):
    step = a_step("a", "processed", **DONE, **columns)
    noted = evidence.MAY_BE_UNDONE.noted(NOW)
    expected = a_step("a", "processed", **DONE, **columns, is_in_doubt=True, fault=noted)

    assert evidence.may_be_undone(step, NOW)

    assert step == expected
    assert (evidence.of(step), evidence.is_unknown_at_end(step)) == (known, True)


@pytest.mark.parametrize(
    ("state", "columns"),
    [
        *((state, {}) for state in ("waiting", "pending", "error", "skipped", "cancelled")),
        ("compensated", {"may_have_effect": False}),
        ("processed", {"may_have_effect": False}),
        ("processed", {"undo": None}),
        ("processed", {"undo": {"name": "undo", "agent": None}}),
    ],
)
def test_what_is_not_done_or_has_no_undo_was_not_undone(state, columns):
    step = a_step("a", state, **{**DONE, **columns})
    before = repr(step)

    assert not evidence.may_be_undone(step, NOW)

    assert repr(step) == before


def test_a_process_that_ends_on_what_may_be_undone_tells_an_operator():
    steps = [a_step(name, "processed", **DONE) for name in ("a", "b", "c")]
    for step in steps[::2]:
        evidence.may_be_undone(step, NOW)
    locked = a_process(*steps)

    apply_reply.finish(locked, "scheduler")

    (alert,) = locked.alerts
    assert (alert.code, alert.cause) == ("ended_in_doubt", "ended_in_doubt:process:1")
    assert alert.params == {"subject": "Toy 1", "steps": ["a", "c"]}
    assert locked.process.state == "processed"


_POSSIBLE = {"may_have_effect": True, "is_in_doubt": True}
_FAILED = {"is_optional": True, "fault": a_fault("transient")}


@pytest.mark.parametrize("outcome", ["processed", "compensated", "cancelled"])
@pytest.mark.parametrize(
    ("state", "columns", "is_told"),
    [
        ("skipped", _POSSIBLE, True),
        ("skipped", {"may_have_effect": True}, True),
        ("skipped", {}, False),
        ("skipped", _POSSIBLE | _FAILED, False),
        ("processed", _POSSIBLE | {"is_by_hand": True}, True),
        ("processed", {"may_have_effect": True, "is_by_hand": True}, False),
        ("processed", {"may_have_effect": True}, False),
        ("cancelled", {"may_have_effect": True}, True),
        ("error", _POSSIBLE, True),
        ("error", {}, False),
        ("compensated", {}, False),
    ],
)
def test_process_that_ends_on_what_nobody_knows_says_so(outcome, state, columns, is_told):
    if outcome == "processed" and state not in SETTLED_STEP_STATES:
        # Such a process does not end as processed.
        outcome = "cancelled"
    locked = a_process(a_step("a", "processed", **DONE), a_step("b", state, **columns))
    if outcome != "processed":
        locked.process.state, locked.process.outcome = "compensating", outcome

    apply_reply.finish(locked, "scheduler")

    assert locked.process.state == outcome
    assert [alert.params["steps"] for alert in locked.alerts] == [["b"]] * is_told


@pytest.mark.parametrize("is_optional", [True, False])
def test_process_that_ends_on_what_a_person_skipped_in_doubt_says_so(is_optional):
    step = a_step("b", "pending", **_POSSIBLE, fault=a_fault("transient"), is_optional=is_optional)
    locked = a_process(step)
    operator_commands.skip(locked, "b", "operator:ann", "")

    apply_reply.finish(locked, "scheduler")

    assert [alert.code for alert in locked.alerts] == ["ended_in_doubt"]


def test_it_is_told_as_the_process_ends_and_not_before():
    step = a_step("a", "processed", **DONE)
    evidence.may_be_undone(step, NOW)
    locked = a_process(step, a_step("b", "pending"))

    apply_reply.finish(locked, "scheduler")

    assert (locked.alerts, locked.process.state) == ([], "processing")


@pytest.mark.parametrize("is_marked", [True, False])
def test_answer_to_a_step_that_was_open_at_a_restore_is_in_doubt_until_the_end(is_marked):
    step = a_step("a", undo=UNDO, may_have_effect=True)
    if is_marked:
        evidence.lost_what_followed(step)
        evidence.may_have_run(step, NOW)
    locked = a_process(step)

    apply_reply.apply_reply(locked, a_reply(step), "scheduler")
    apply_reply.finish(locked, "scheduler")

    known = Evidence.POSSIBLE if is_marked else Evidence.CERTAIN
    assert (evidence.of(step), evidence.is_unknown_at_end(step)) == (known, is_marked)
    assert [alert.code for alert in locked.alerts] == ["ended_in_doubt"] * is_marked


def test_mark_of_a_restore_outlives_faults_fall_back_and_beginning_again():
    step = a_step("a", undo=UNDO, fallbacks=[{"agent": "b", "undo_agent": "b.undo"}])
    evidence.lost_what_followed(step)
    locked = a_process(step)
    apply_reply.apply_fault(locked, step, a_fault("unavailable"), "scheduler", None)
    fall_back.take_next(locked, step)
    step.state, step.may_have_effect = "processing", True

    apply_reply.apply_result(locked, step, {}, "scheduler")

    assert evidence.is_unknown_at_end(step)


def test_what_a_person_did_after_a_restore_was_not_undone():
    step = a_step("a", undo=UNDO, is_by_hand=True, may_have_effect=True)
    evidence.lost_what_followed(step)

    apply_reply.apply_result(a_process(step), step, {}, "operator:ann")

    assert (evidence.of(step), step.fault) == (Evidence.BY_HAND, None)
