"""What a person did by hand a person undoes, on rows in memory."""

from datetime import timedelta
from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.exceptions import StateError
from workers.rules import apply_reply, compensation, evidence, operator_commands, restart
from workers.rules.evidence import Evidence
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess

UNDO = {"name": "refund", "agent": "pay.refund"}


def by_hand(*, is_in_doubt: bool = False) -> tuple[LockedProcess, StepRow]:
    step = a_step("pay", "error", undo=UNDO, may_have_effect=is_in_doubt, is_in_doubt=is_in_doubt)
    locked = a_process(step, state="error")
    operator_commands.complete(locked, "pay", {"paid": "by transfer"}, "operator:ann", "paid")
    return locked, step


def with_undo(locked: LockedProcess, forward: StepRow, state: str = "waiting") -> StepRow:
    """Add the undo step that the store makes of what was planned."""
    undo = a_step("refund", state, undoes_id=forward.id)
    locked.steps.append(undo)
    return undo


def test_it_is_known_to_be_done_by_hand():
    locked, step = by_hand()

    assert (step.state, evidence.of(step), locked.process.state) == (
        "processed",
        Evidence.BY_HAND,
        "processing",
    )


def test_what_changes_nothing_outside_needs_nobody():
    step = a_step("look", "error", effect="none")
    operator_commands.complete(a_process(step, state="error"), "look", {}, "operator:ann", "")

    assert evidence.of(step) == Evidence.NONE


def test_a_plan_says_who_undoes_it():
    locked, _ = by_hand()

    plan = compensation.begin(locked, "cancelled", "operator:ann", "")

    assert ([one.name for one in plan.undo], plan.by_hand) == (["refund"], ("pay",))


@pytest.mark.parametrize("is_in_doubt", [False, True])
@pytest.mark.parametrize("state", ["waiting", "pending"])
def test_its_undo_is_an_operators_and_no_agents(state, is_in_doubt):
    locked, step = by_hand(is_in_doubt=is_in_doubt)
    compensation.begin(locked, "cancelled", "operator:ann", "")
    undo = with_undo(locked, step, state)

    assert apply_reply.give_up_doubtful(locked, undo, "scheduler")
    apply_reply.finish(locked, "scheduler")

    assert (undo.state, locked.process.state) == ("error", "error")
    assert undo.fault is not None
    assert undo.fault.code == "done_by_hand"
    assert ("look there as well" in undo.fault.message) == is_in_doubt
    assert [alert.code for alert in locked.alerts] == ["undo_stuck"]


def test_an_undo_that_was_given_up_is_not_resubmitted():
    locked, step = by_hand()
    compensation.begin(locked, "cancelled", "operator:ann", "")
    undo = with_undo(locked, step, "error")
    locked.process.state = "error"
    before = repr(undo)

    with pytest.raises(StateError, match="undoes what a person did"):
        operator_commands.resubmit(locked, "operator:ann", "", nothing_happened=True)

    assert (repr(undo), locked.process.state) == (before, "error")


def test_once_a_person_has_undone_it_the_rest_follows():
    locked, step = by_hand()
    compensation.begin(locked, "cancelled", "operator:ann", "")
    with_undo(locked, step, "error")
    locked.process.state = "error"

    operator_commands.complete(locked, "refund", {"back": True}, "operator:ann", "paid back")
    apply_reply.finish(locked, "scheduler")

    assert (step.state, evidence.of(step)) == ("compensated", Evidence.UNDONE)
    assert locked.process.state == "cancelled"


def test_beginning_again_asks_a_person_first():
    locked, step = by_hand()
    renewal = restart.begin(locked, "pay", "operator:ann", "")
    undo = with_undo(locked, step)

    assert renewal.undo.by_hand == ("pay",)
    assert apply_reply.give_up_doubtful(locked, undo, "scheduler")
    assert step.state == "processed"


def test_what_a_service_did_is_undone_by_its_service():
    step = a_step("pay", "processed", undo=UNDO, may_have_effect=True)
    locked = a_process(step)
    plan = compensation.begin(locked, "cancelled", "operator:ann", "")
    undo = with_undo(locked, step)

    assert plan.by_hand == ()
    assert not apply_reply.give_up_doubtful(locked, undo, "scheduler")


def forgotten(**columns: Any) -> tuple[LockedProcess, StepRow, StepRow]:
    """Return an undo that is due, of a charge whose key was first used two hours ago."""
    values = {
        "undo": UNDO,
        "attempt": 1,
        "may_have_effect": True,
        "is_in_doubt": True,
        "key_retention_seconds": 3600,
        "key_used_at": NOW - timedelta(hours=2),
        "state": "error",
        **columns,
    }
    step = a_step("pay", **values)
    undo = a_step("refund", "pending", undoes_id=step.id)
    locked = a_process(step, undo, state="compensating")
    locked.process.outcome = "compensated"
    return locked, step, undo


@pytest.mark.parametrize("state", ["error", "cancelled", "skipped"])
@pytest.mark.parametrize("is_in_doubt", [True, False])
def test_undo_of_a_possible_effect_whose_key_is_forgotten_is_a_persons(state, is_in_doubt):
    locked, _, undo = forgotten(state=state, is_in_doubt=is_in_doubt)

    assert apply_reply.give_up_doubtful(locked, undo, "scheduler")

    assert undo.fault is not None
    assert (undo.state, undo.fault.code) == ("error", "key_expired")
    assert [alert.code for alert in locked.alerts] == ["undo_stuck"]


@pytest.mark.parametrize(
    ("hours", "names"), [(2, ("pay",)), (0, ())], ids=["forgotten", "remembered"]
)
def test_previews_name_what_a_service_has_forgotten(hours, names):
    locked, step, undo = forgotten(key_used_at=NOW - timedelta(hours=hours))
    locked.steps.remove(undo)
    locked.process.state, locked.process.outcome = "error", None

    assert compensation.plan(locked).forgotten == names
    assert restart.begin(locked, step.name, "operator:ann", "").undo.forgotten == names


@pytest.mark.parametrize(
    "columns",
    [
        {"key_used_at": NOW - timedelta(minutes=59)},
        {"key_retention_seconds": None},
        {"state": "processed", "is_in_doubt": False},
        {"early": {"result": {"charge": "ch_late"}}},
        {"effect": "queryable"},
        {"may_have_effect": False, "is_in_doubt": False},
    ],
    ids=["remembered", "never forgotten", "certain", "known since", "can be asked", "none"],
)
def test_undo_that_finds_what_it_undoes_is_its_agents(columns):
    locked, _, undo = forgotten(**columns)

    assert not apply_reply.give_up_doubtful(locked, undo, "scheduler")


def test_forgotten_effect_is_undone_once_a_person_says_that_nothing_happened():
    locked, step, undo = forgotten()
    apply_reply.give_up_doubtful(locked, undo, "scheduler")
    locked.process.state = "error"

    with pytest.raises(StateError, match="Nobody knows whether refund happened"):
        operator_commands.resubmit(locked, "operator:ann", "")
    operator_commands.resubmit(locked, "operator:ann", "", nothing_happened=True)

    assert (undo.state, evidence.is_none(step)) == ("pending", True)
    assert not apply_reply.give_up_doubtful(locked, undo, "scheduler")
