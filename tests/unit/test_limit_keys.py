"""Which keys limit a call and a process, and whether they have room."""

from datetime import UTC, datetime

import pytest

from tests.unit.build import a_process, a_step
from workers.definitions.per_key import PerKey
from workers.definitions.workflow import Fallback, Undo, Workflow, step
from workers.exceptions import WorkflowError
from workers.rules import attributes, limit_keys
from workers.rules.limit_keys import KeyRoom
from workers.rules.rate_limit import Bucket
from workers.rules.rows import NewProcess
from workers.rules.transitions import LockedProcess

CARD, ALONE = "agent:card:customer=7", "workflow:bills:customer=7"


def keyed(state: str = "pending", key: str | None = CARD) -> LockedProcess:
    one = a_step("one", state, agent="card")
    one.limit_key = key
    return a_process(one, state="pending")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((7,), "attribute must be the name of an attribute, got 7"),
        (("the customer",), "attribute must be the name of an attribute"),
        (("customer", 0), "window must be a whole number from 1"),
        (("customer", None), "window must be a whole number, got None"),
        (("customer", 1.5), "window must be a whole number"),
        (("customer", 1, 0), "rate must be a number above 0 and at most 1000, or None, got 0"),
        (("customer", 1, True), "rate must be a number above 0"),
    ],
)
def test_limit_that_cannot_work_is_refused_where_it_is_declared(given, says):
    with pytest.raises(WorkflowError, match=says):
        PerKey(*given)


@pytest.mark.parametrize("exclusive", ["customer", 7, ["plan"]])
def test_exclusive_must_be_one_of_the_attributes(exclusive):
    with pytest.raises(WorkflowError, match="exclusive must be one of its attributes"):
        Workflow("bills", 1, (step("one", "card"),), attributes={"plan": str}, exclusive=exclusive)


def test_every_agent_that_a_step_may_need_asks_for_its_attribute():
    undo, back = Undo("undo", "undoer", per_key="b"), Fallback("b", per_key="c", undo_per_key="d")
    spec = step("one", "card", undo=undo, fallbacks=(back,))
    object.__setattr__(spec, "per_key", "a")
    kinds = dict.fromkeys("abcde", int)

    asked = attributes.asked_for(Workflow("bills", 1, (spec,), attributes=kinds, exclusive="e"))

    assert set(asked) == set("abcde")
    assert asked["b"] == "agent undoer (per_key)"


def test_what_is_asked_for_and_not_declared_is_refused_by_name():
    spec = step("one", "card")
    object.__setattr__(spec, "per_key", "customer")
    workflow = Workflow("bills", 1, (spec,))

    with pytest.raises(ValueError, match="attribute customer must be declared by workflow bills"):
        attributes.check(workflow, [NewProcess("B", {})])


def test_key_names_the_agent_so_that_no_two_share_a_place():
    values = {"customer": "7"}
    assert limit_keys.of_agent("card", "customer", values) == CARD
    assert limit_keys.of_agent("mail", "customer", values) != CARD
    assert limit_keys.of_agent("card", None, values) is None
    assert limit_keys.of_agent("card", "customer", None) is None


def test_places_are_used_up_one_by_one():
    room, locked = KeyRoom({CARD: 1}), keyed()
    [one] = locked.steps

    assert room.has_room(locked, one)
    room.take(locked, one, 1)

    assert not room.has_room(locked, one)
    assert room.waited_for == {CARD}


def test_call_in_doubt_spends_a_token_for_its_question_as_well():
    now = datetime(2026, 3, 1, tzinfo=UTC)
    room, locked = KeyRoom({CARD: 5}, {CARD: Bucket(2, 2.5, now)}), keyed()

    assert room.seconds_to_next() is None
    room.take(locked, locked.steps[0], 2)

    assert (room.left[CARD], room.buckets[CARD].tokens, room.spent) == (4, 0.5, {CARD})
    assert room.seconds_to_next() == pytest.approx(0.5 / 1.9)


def test_key_about_which_another_session_decides_is_not_full():
    room, locked = KeyRoom({CARD: None}), keyed()

    assert not room.has_room(locked, locked.steps[0])
    assert (room.waited_for, room.is_undecided) == (set(), True)


def test_process_needs_its_place_to_begin_and_not_to_go_on():
    locked = keyed(key=None)
    locked.process.exclusive = ALONE
    [one] = locked.steps

    assert list(limit_keys.needed(locked, one)) == [ALONE]
    locked.process.state = "processing"
    assert list(limit_keys.needed(locked, one)) == []


@pytest.mark.parametrize(("state", "after"), [("processing", "pending"), ("pending", "cancelled")])
def test_step_that_leaves_its_place_or_its_turn_frees_it(state, after):
    locked = keyed(state)

    locked.move(locked.steps[0], after, "moved", "w")

    assert locked.freed_keys == {CARD: "card"}


def test_process_frees_its_place_when_it_has_ended_and_not_in_error():
    locked = keyed()
    locked.process.exclusive = ALONE
    locked.process.state = "processing"

    locked.move_process("error", "error", "w")
    assert locked.freed_keys == {}
    locked.move_process("compensating", "compensating", "w")
    locked.move_process("compensated", "compensated", "w")
    assert locked.freed_keys == {ALONE: ""}


@pytest.mark.parametrize("owner", ["card", "card:two"])
def test_attribute_is_read_from_a_key_without_its_value(owner):
    assert limit_keys.attribute_of(f"agent:{owner}:customer=a:b=c", owner) == "customer"
