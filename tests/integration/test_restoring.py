"""A database restored to an earlier time: what may have happened since is in doubt."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import put
from tests.integration.conftest import begin, claim, only, reread
from tests.toyflow import agents as toy
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import StateError
from workers.models import Alert, Journal, Process, Step
from workers.ops import invariants
from workers.store.db import dialect
from workers.store.operate import after_restore
from workers.testing.agent_processes import CALL, REPLY


def restore(*processes: Process) -> int:
    since = dialect.read_clock()
    return after_restore.mark([process.pk for process in processes], since, actor="ann")


@pytest.mark.fault("F2")
def test_a_call_made_after_the_restored_time_is_repeated_with_the_same_key(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    keys = [step.idempotency_key for step in process.steps.order_by("position")]
    assert restore(process) == 2
    wire.run_until_idle()

    assert reread(process).state == "processed"
    assert [toy.calls["toy.alpha"], toy.calls["toy.beta"]] == [[keys[0]], [keys[1]]]
    assert invariants.violations() == []


@pytest.mark.fault("F27")
def test_what_can_be_asked_is_asked(wire):
    process = submit("toy_queried", subject="Toy 1", input={})
    toy.script["toy.asker?"] = lambda call: {"found": True}
    restore(process)
    wire.run_until_idle()

    assert only(process, "pay").result == {"found": True}
    assert toy.calls["toy.asker"] == []


@pytest.mark.fault("F27")
def test_what_must_not_be_repeated_goes_to_an_operator(wire):
    process = submit("toy_unsafe_fallback", subject="Toy 1", input={})
    put(Step.objects.all(), effect="unsafe")
    restore(process)
    wire.run_until_idle()
    wire.run_until_idle()

    assert reread(process).state == "error"
    assert only(process, "tell").fault["code"] == "outcome_unknown"
    assert toy.calls["toy.alpha"] == []
    assert Alert.objects.get().code == "process_error"


def test_a_later_step_that_must_not_be_repeated_goes_to_an_operator_too(wire):
    process = submit("toy_optional", subject="Toy 1", input={})
    put(Step.objects.filter(name="mail"), is_optional=False)
    restore(process)
    wire.run_until_idle()
    wire.run_until_idle()

    assert only(process, "mail").fault["code"] == "outcome_unknown"
    assert toy.calls["toy.mailer"] == []
    assert len(toy.calls["toy.alpha"]) == 1


def test_what_stood_in_error_may_have_been_resubmitted_since(wire):
    process = submit("toy_unsafe_fallback", subject="Toy 1", input={})
    put(Step.objects.all(), state="error", effect="unsafe")
    Process.objects.update(state="error")
    restore(process)
    with pytest.raises(StateError, match="Nobody knows whether tell happened"):
        operations.resubmit(process.pk, actor="ann", reason="")


def test_cancelling_undoes_what_may_have_happened(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    restore(process)
    operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
    wire.run_until_idle()

    assert reread(process).state == "cancelled"
    assert {name for name, _ in toy.undone} == {
        "undo_top",
        "undo_left",
        "undo_right",
        "undo_bottom",
    }
    assert invariants.violations() == []


def test_claims_are_void_and_count_no_failure(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    begin(wire)
    restore(process)
    step = only(process, "one")
    assert (step.state, step.failure_count, step.is_in_doubt) == ("pending", 0, True)
    # The answer to the void claim changes nothing.
    wire.deliver_all(CALL)
    wire.deliver_all(REPLY)
    step = only(process, "one")
    assert (step.state, step.failure_count, step.result) == ("pending", 0, None)
    assert Journal.objects.filter(event="stale_reply").count() == 1


def test_what_was_on_its_way_back_is_undone_once(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.drop_all()
    operations.undo(process.pk, outcome="cancelled", actor="ann", reason="")
    restore(process)
    wire.run_until_idle()

    assert reread(process).state == "cancelled"
    assert [name for name, _ in toy.undone] == ["undo_top"]
    assert invariants.violations() == []


def test_a_filed_reply_is_what_happened(wire):
    process = submit("toy_local", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.drop_all()
    assert restore(process) == 0
    wire.run_until_idle()

    assert reread(process).state == "processed"
    assert len(toy.calls["toy.writer"]) == 1


def test_what_is_final_is_left_alone(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    before = list(Step.objects.values())
    assert restore(process) == 0
    assert list(Step.objects.values()) == before
    assert not Journal.objects.filter(event="restored").exists()


@pytest.mark.parametrize("offset", [-60, 60])
def test_a_time_that_cannot_be_it_is_refused(offset, wire):
    submit("toy_line", subject="Toy 1", input={})
    with pytest.raises(StateError):
        after_restore.check_since(dialect.read_clock() + timedelta(seconds=offset))


def test_open_processes_are_walked_in_portions(wire):
    found = [submit("toy_line", subject=f"Toy {n}", input={}).pk for n in range(5)]
    since = dialect.read_clock()
    portion: list[Any] = after_restore.open_processes(since, 0, 3)
    assert portion == found[:3]
    assert after_restore.open_processes(since, portion[-1], 3) == found[3:]


def test_marking_that_was_cut_off_is_gone_on_with(wire):
    found = [submit("toy_line", subject=f"Toy {n}", input={}).pk for n in range(3)]
    since = dialect.read_clock()
    after_restore.mark(found[:2], since, actor="ann", now=since + timedelta(seconds=1))

    after_restore.check_since(since)
    assert after_restore.open_processes(since, 0, 9) == found[2:]

    assert claim(since + timedelta(seconds=2))
    with pytest.raises(StateError, match="newest journal row"):
        after_restore.check_since(since)
