"""The move that ends a process, taken back until the application has heard of it."""

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.rules import hold_endings
from workers.rules.transitions import LockedProcess


def ended(*, has_on_end: bool = True) -> LockedProcess:
    locked = a_process(a_step("a", "processed"))
    locked.process.has_on_end = has_on_end
    locked.note("deferred", "agent", step=locked.steps[0], public=True)
    locked.move_process("processed", "processed", "scheduler")
    locked.note("escalated", "scheduler", public=True)
    return locked


def test_an_ending_is_taken_back_without_a_gap_in_the_numbers():
    locked = ended()
    ending = hold_endings.hold(locked)

    assert ending is not None
    assert (ending.before, ending.after) == ("processing", "processed")
    assert (locked.process.state, locked.process.finished_at) == ("processing", None)
    assert [(entry.event, entry.sequence) for entry in locked.entries] == [
        ("deferred", 6),
        ("escalated", 7),
    ]
    assert locked.process.sequence == 7


def test_once_the_application_has_heard_it_is_the_last_move():
    locked = ended()
    ending = hold_endings.hold(locked)
    assert ending is not None
    hold_endings.end(locked, ending)

    assert (locked.process.state, locked.process.finished_at) == ("processed", NOW)
    assert (locked.entries[-1].event, locked.entries[-1].sequence) == ("processed", 8)


@pytest.mark.parametrize("locked", [ended(has_on_end=False), a_process(a_step("a"))])
def test_no_ending_is_held_without_on_end_or_without_an_ended_process(locked):
    before = list(locked.entries)

    assert hold_endings.hold(locked) is None
    assert locked.entries == before


def test_an_end_of_an_earlier_transaction_is_not_taken_back():
    locked = a_process(a_step("a", "processed"), state="processed")
    locked.process.has_on_end = True

    assert hold_endings.hold(locked) is None
