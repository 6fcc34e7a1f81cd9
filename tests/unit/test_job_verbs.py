"""What a job does to each of its processes, and to how many at once."""

from typing import Any

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault
from workers.desk.rules.job_verbs import QUIET_VERBS, STEERING, VERBS, allowance
from workers.desk.states import JobState
from workers.exceptions import StateError
from workers.rules.rate_limit import Bucket


def in_error(**columns: Any) -> Any:
    return a_process(a_step("a", "error", fault=a_fault("transient"), **columns), state="error")


def test_every_verb_acts_as_an_operator_would():
    resubmitted, cancelled = in_error(), a_process(a_step("a", "pending"))
    VERBS["resubmit"](resubmitted, "ann", "mended", {})
    VERBS["cancel"](cancelled, "ann", "mended", {})
    assert (resubmitted.process.state, cancelled.process.state) == ("processing", "compensating")

    paused = a_process(a_step("a", "pending"))
    VERBS["pause"](paused, "ann", "mended", {})
    assert paused.is_paused
    VERBS["resume"](paused, "ann", "mended", {})
    assert not paused.is_paused


def test_a_verb_that_the_state_forbids_changes_nothing():
    for verb in ("resubmit", "retry", "resume"):
        locked = a_process(a_step("a"))
        with pytest.raises(StateError):
            VERBS[verb](locked, "ann", "why", {})
        assert locked.entries == []


def test_a_job_may_say_that_nothing_happened():
    doubtful = {"effect": "unsafe", "may_have_effect": True, "is_in_doubt": True}
    with pytest.raises(StateError, match="Nobody knows whether a happened"):
        VERBS["resubmit"](in_error(**doubtful), "ann", "why", {})
    locked = in_error(**doubtful)
    VERBS["resubmit"](locked, "ann", "why", {"nothing_happened": True})

    assert (locked.steps[0].state, locked.steps[0].is_in_doubt) == ("pending", False)


def test_verbs_after_which_nothing_is_ready_are_verbs():
    assert set(VERBS) > QUIET_VERBS


def test_a_job_that_has_ended_cannot_be_steered():
    for begins, _ in STEERING.values():
        assert not begins & {JobState.DONE, JobState.STOPPED}


@pytest.mark.parametrize(
    ("tokens", "most", "allowed"), [(None, 200, 200), (3.9, 200, 3), (50.0, 20, 20), (-2.0, 20, 0)]
)
def test_as_many_as_the_rate_allows(tokens, most, allowed):
    bucket = None if tokens is None else Bucket(per_second=5, tokens=tokens, at=NOW)

    assert allowance(bucket, most) == allowed
