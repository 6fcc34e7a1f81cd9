"""Steps that become needless, on rows in memory."""

from datetime import timedelta

import pytest

from tests.unit.build import NOW, a_process, a_step
from tests.unit.test_apply_reply import a_fault, a_reply
from workers.exceptions import StateError
from workers.rules import apply_reply, calling_off, operator_commands

DAY = NOW + timedelta(days=1)


def a_reminder(name: str = "remind", state: str = "pending", **columns):
    return a_step(name, state, **{"unless": "answer", "not_before": DAY, **columns})


def test_a_step_that_waits_is_skipped_once_the_named_one_is_done():
    remind = a_reminder()
    locked = a_process(a_step("answer", "processed", result={}), remind)

    calling_off.call_off(locked, "scheduler")

    assert remind.state == "skipped"
    (entry,) = locked.entries
    assert (entry.event, entry.before, entry.after) == ("skipped", "pending", "skipped")
    assert entry.detail["reason"] == "answer is done"
    assert entry.sequence == 6


def test_those_that_come_after_it_are_skipped_with_it():
    first, second = a_reminder(), a_reminder("again", "waiting", after=("remind",))
    locked = a_process(a_step("answer", "processed", result={}), first, second)

    calling_off.call_off(locked, "scheduler")

    assert (first.state, second.state) == ("skipped", "skipped")


@pytest.mark.parametrize("state", ["waiting", "pending", "processing", "error", "skipped"])
def test_it_stays_while_the_named_one_is_not_done(state):
    remind = a_reminder()
    locked = a_process(a_step("answer", state), remind)

    calling_off.call_off(locked, "scheduler")

    assert (remind.state, locked.entries) == ("pending", [])


@pytest.mark.parametrize("state", ["processing", "processed", "error", "cancelled"])
def test_a_step_that_has_begun_stays_as_it_is(state):
    remind = a_reminder(state=state)
    locked = a_process(a_step("answer", "processed", result={}), remind)

    calling_off.call_off(locked, "scheduler")

    assert (remind.state, locked.entries) == (state, [])


def test_a_step_that_may_have_been_done_is_called_again():
    remind = a_reminder(attempt=1, may_have_effect=True, is_in_doubt=True)
    locked = a_process(a_step("answer", "processed", result={}), remind)

    calling_off.call_off(locked, "scheduler")

    assert remind.state == "pending"


def test_a_refused_attempt_is_called_off_and_counts_as_no_failure():
    remind = a_reminder(attempt=1, failure_count=1, fault=a_fault("transient"), is_optional=True)
    locked = a_process(a_step("answer", "processed", result={}), remind)

    calling_off.call_off(locked, "scheduler")

    assert (remind.state, remind.fault) == ("skipped", None)
    assert operator_commands.left_out(locked) == []


@pytest.mark.parametrize("outcome", ["compensated", "cancelled"])
def test_nothing_is_called_off_while_the_process_is_undone(outcome):
    remind = a_reminder()
    locked = a_process(a_step("answer", "processed", result={}), remind, state="compensating")
    locked.process.outcome = outcome

    calling_off.call_off(locked, "scheduler")

    assert (remind.state, locked.entries) == ("pending", [])


def test_a_claim_without_a_call_ends_skipped_and_leaves_no_doubt():
    remind = a_step("remind", key_used_at=NOW)
    locked = a_process(remind)

    assert apply_reply.apply_reply(locked, a_reply(remind, result=None, is_uncalled=True), "me")

    assert (remind.state, remind.claim_id, remind.key_used_at) == ("skipped", None, None)
    assert not remind.may_have_effect
    assert locked.entries[-1].detail["reason"] == "its unless is true"


def test_a_claim_without_a_call_is_cancelled_if_its_process_compensates():
    remind = a_step("remind")
    locked = a_process(remind, state="compensating")
    locked.process.outcome = "cancelled"

    apply_reply.apply_reply(locked, a_reply(remind, result=None, is_uncalled=True), "me")

    assert (remind.state, remind.may_have_effect) == ("cancelled", False)


def test_a_needless_step_is_not_redone():
    remind = a_reminder(state="skipped")
    locked = a_process(a_step("answer", "processed", result={}), remind)

    with pytest.raises(StateError, match="its condition was false"):
        operator_commands.redo(locked, "remind", "operator:ann", "send it")

    assert (remind.state, locked.entries) == ("skipped", [])


def test_a_step_that_needs_nothing_is_redone_as_ever():
    remind = a_reminder(state="skipped", unless="")
    locked = a_process(a_step("answer", "processed", result={}), remind)

    operator_commands.redo(locked, "remind", "operator:ann", "send it")

    assert remind.state == "pending"
