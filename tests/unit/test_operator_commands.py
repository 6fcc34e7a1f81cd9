"""What operators do, on rows in memory."""

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.exceptions import StateError
from workers.rules import operator_commands


def test_resubmitting_gives_the_failed_steps_their_attempts_back():
    failed = a_step("a", "error", failure_count=3, attempt=3, fault=a_fault("transient"))
    done = a_step("b", "processed")
    locked = a_process(failed, done, state="error")

    names = operator_commands.resubmit(locked, "operator:ann", "service is back")

    assert names == ["a"]
    assert (failed.state, failed.failure_count, failed.attempt) == ("pending", 0, 3)
    assert failed.not_before == NOW
    assert done.state == "processed"
    assert locked.process.state == "processing"
    assert [e.detail["reason"] for e in locked.entries] == ["service is back"] * 2


@pytest.mark.parametrize("state", ["pending", "processing", "processed"])
def test_resubmitting_what_is_not_in_error_is_refused(state):
    step = a_step("a", "processed")
    locked = a_process(step, state=state)

    with pytest.raises(StateError, match="nothing to resubmit"):
        operator_commands.resubmit(locked, "operator:ann", "why not")

    assert (locked.process.state, locked.entries) == (state, [])
