"""Assertions: silent when it is so, and the whole story when it is not."""

import pytest

from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import Permanent, Refused
from workers.models import Process, Step
from workers.testing import (
    Wire,
    assert_invariants,
    assert_journal,
    assert_processed,
    assert_states,
    assert_undone,
    journal_text,
    scripted,
)


def line(wire: Wire) -> Process:
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    return process


def undone(wire: Wire) -> Process:
    process = submit("toy_undoable", subject="Toy 1", input={})
    with scripted({"toy.delta": [Refused("declined", "not today")]}):
        wire.run_until_idle()
    return process


def message(caught: pytest.ExceptionInfo[AssertionError]) -> str:
    return str(caught.value)


def test_a_processed_process_is_processed_and_not_undone(wire, clock):
    process = line(wire)

    assert_processed(process)
    with pytest.raises(AssertionError, match="Toy 1 is processed: not undone"):
        assert_undone(process)


def test_assertion_failure_prints_process_state_steps_and_journal(wire, clock):
    process = submit("toy_line", subject="Toy 1", input={})
    with scripted({"toy.beta": [Permanent("http_404", "gone")]}):
        wire.run_until_idle()

    with pytest.raises(AssertionError) as caught:
        assert_processed(process)

    assert message(caught).splitlines() == [
        "Toy 1 is error: not processed.",
        "Needs an operator: two failed for good: gone.",
        "Steps: one processed, two error",
        "Journal:",
        "  12:00:00.000000  submitted nothing -> pending",
        "  12:00:00.000000  started pending -> processing",
        "  12:00:00.000000  one: claimed pending -> processing, attempt 1",
        "  12:00:00.000000  one: processed processing -> processed, attempt 1",
        "  12:00:00.000000  two: claimed waiting -> processing, attempt 1",
        "  12:00:00.000000  two: refused processing -> error, attempt 1 (gone)",
        "  12:00:00.000000  error processing -> error (gone)",
    ]


def test_the_caller_s_own_object_is_not_asked(wire, clock):
    process = submit("toy_line", subject="Toy 1", input={})
    process.state = "processed"

    with pytest.raises(AssertionError, match="Toy 1 is pending"):
        assert_processed(process)


@pytest.mark.parametrize(
    "order",
    [None, [{"undo_left", "undo_right"}, "undo_top"], [{"undo_left", "undo_right", "undo_top"}]],
    ids=["any", "by level", "one set"],
)
def test_an_undone_process_is_undone_in_its_order(wire, clock, order):
    process = undone(wire)

    assert_undone(process, order=order)
    with pytest.raises(AssertionError, match="Toy 1 is compensated: not processed"):
        assert_processed(process)


@pytest.mark.parametrize(
    "order",
    [
        ["undo_top", {"undo_left", "undo_right"}],
        [{"undo_left", "undo_right"}],
        [{"undo_left", "undo_right"}, "undo_top", "undo_bottom"],
        [],
    ],
    ids=["forward", "too few", "too many", "none"],
)
def test_another_order_is_refused(wire, clock, order):
    process = undone(wire)

    with pytest.raises(AssertionError, match="undone by"):
        assert_undone(process, order=order)


def test_a_cancelled_process_is_undone(wire, clock):
    process = submit("toy_undoable", subject="Toy 1", input={})
    operations.undo(process.pk, outcome="cancelled", actor="operator:ann", reason="not wanted")
    wire.run_until_idle()

    assert_undone(process, order=[])


def test_states_are_compared_by_name_and_all_of_them(wire, clock):
    process = line(wire)

    assert_states(process, {"one": "processed", "two": "processed"})
    with pytest.raises(AssertionError, match="two is processed, not expected"):
        assert_states(process, {"one": "processed"})
    with pytest.raises(AssertionError, match="two is processed, not error; three is no step"):
        assert_states(process, {"one": "processed", "two": "error", "three": "waiting"})


def test_the_journal_is_compared_in_order(wire, clock):
    process = line(wire)
    events = [
        "submitted",
        "started",
        "one: claimed",
        "one: processed",
        "two: claimed",
        "two: processed",
        "processed",
    ]

    assert_journal(process, events)
    with pytest.raises(AssertionError, match="its journal is not"):
        assert_journal(process, [*events[1:], events[0]])
    assert len(journal_text(process).splitlines()) == len(events)


def test_a_broken_row_is_named_with_the_rule_it_breaks(wire, clock):
    process = line(wire)
    assert_invariants()

    Step.objects.filter(process=process, name="two").update(attempt=5)

    with pytest.raises(AssertionError) as caught:
        assert_invariants()
    assert message(caught).splitlines()[1:] == [
        "  attempts_are_journalled (A step was claimed as often as it counts.)"
        " Toy 1: two counts 5, journal 1"
    ]
