"""Undo: what was done is undone, in reverse, once each, whatever happens on the way back."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import begin, only
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client import operations
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, Refused, StateError, Transient, Unavailable
from workers.models import Alert, Journal, Process
from workers.ops.invariants import violations
from workers.testing import Wire, pass_time
from workers.testing.agent_processes import CALL, REPLY


def failing(fault: Exception) -> Callable[[Call], dict[str, Any]]:
    def fail(call: Call) -> dict[str, Any]:
        raise fault

    return fail


def run(wire: Wire, rounds: int = 1) -> None:
    for _ in range(rounds):
        wire.run_until_idle()
        pass_time(600)
        supervisor.sweep()
    wire.run_until_idle()


def state(process: Process) -> str:
    process.refresh_from_db()
    return process.state


def undone_steps() -> list[str]:
    return [name for name, _ in toy.undone]


@pytest.mark.fault("F24")
def test_a_refusal_undoes_what_was_done_in_reverse_and_wakes_nobody(wire):
    toy.script["toy.delta"] = failing(Refused("declined", "not today"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "compensated"
    assert wire.states(process) == {
        "top": "compensated",
        "left": "compensated",
        "right": "compensated",
        "bottom": "error",
        "mail": "cancelled",
        "undo_top": "processed",
        "undo_left": "processed",
        "undo_right": "processed",
    }
    assert sorted(undone_steps()[:2]) == ["undo_left", "undo_right"]
    assert undone_steps()[2:] == ["undo_top"]
    assert not Alert.objects.exists()
    assert violations() == []
    process.refresh_from_db()
    assert (process.outcome, process.finished_at is not None) == ("compensated", True)


def test_an_undo_gets_the_key_and_the_result_of_what_it_undoes(wire):
    seen: dict[str, dict[str, Any]] = {}
    toy.script["toy.alpha"] = lambda call: {"id": "a-1"}
    toy.script["toy.undoer"] = lambda call: seen.update({call.step: call.payload}) or {}
    toy.script["toy.delta"] = failing(Refused("declined", "no"))
    process = submit("toy_undoable", subject="Toy 1", input={"n": 5})

    run(wire)

    top = only(process, "top")
    assert seen["undo_top"] == {"n": 5, "undoes": top.idempotency_key, "result": {"id": "a-1"}}
    assert only(process, "undo_top").idempotency_key == f"{top.idempotency_key}:undo"


@pytest.mark.parametrize(
    ("step", "undone"),
    [
        ("toy.alpha", []),
        ("toy.beta", ["undo_right", "undo_top"]),
        ("toy.gamma", ["undo_left", "undo_top"]),
        ("toy.delta", ["undo_left", "undo_right", "undo_top"]),
    ],
    ids=["top", "left", "right", "bottom"],
)
def test_whichever_step_is_refused_exactly_the_others_are_undone(wire, step, undone):
    toy.script[step] = failing(Refused("declined", "no"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "compensated"
    assert sorted(undone_steps()) == undone
    assert violations() == []


def test_a_step_that_failed_past_its_policy_of_undoing_tells_an_operator(wire):
    toy.script["toy.gamma"] = failing(Permanent("http_404", "gone"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "compensated"
    assert list(Alert.objects.values_list("code", "times")) == [("process_compensating", 1)]


@pytest.mark.fault("F2")
def test_an_effect_whose_reply_was_lost_is_undone_too(wire):
    toy.script["toy.gamma"] = failing(Transient("http_500", "did it, or did not"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire, rounds=4)

    assert state(process) == "compensated"
    assert sorted(undone_steps()) == ["undo_left", "undo_right", "undo_top"]
    assert wire.states(process)["right"] == "compensated"
    assert violations() == []


def test_what_is_in_flight_is_drained_before_it_is_undone(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.deliver_all(REPLY)
    # Both branches run; the replies of the left one are held back.
    left, right = wire.of(CALL)
    if left.works[0].agent.name != "toy.beta":
        left, right = right, left
    wire.deliver(left)
    (held,) = wire.of(REPLY)
    wire.messages.remove(held)
    toy.script["toy.gamma"] = failing(Refused("declined", "no"))
    wire.deliver(right)
    wire.run_until_idle()

    assert state(process) == "compensating"
    assert undone_steps() == []
    assert wire.states(process)["undo_top"] == "waiting"

    wire.messages.append(held)
    wire.run_until_idle()

    assert state(process) == "compensated"
    assert undone_steps() == ["undo_left", "undo_top"]
    assert violations() == []


def test_a_silent_branch_is_drained_by_its_deadline(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.deliver_all(REPLY)
    for message in wire.of(CALL):
        if message.works[0].agent.name == "toy.beta":
            wire.deliver(message)
    wire.messages = [m for m in wire.messages if m.task == CALL]
    toy.script["toy.gamma"] = failing(Refused("declined", "no"))
    wire.run_until_idle()
    assert state(process) == "compensating"

    pass_time(40)
    supervisor.sweep()
    wire.run_until_idle()

    left = only(process, "left")
    assert (left.state, left.failure_count, left.attempt) == ("compensated", 1, 1)
    assert state(process) == "compensated"
    assert violations() == []


def test_what_is_undone_before_a_process_takes_it_calls_no_agent(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})

    operations.undo(process.pk, outcome="cancelled", actor="operator:ann", reason="changed mind")
    wire.run_until_idle()

    assert state(process) == "cancelled"
    assert toy.calls["toy.alpha"] == []
    assert set(wire.states(process).values()) == {"cancelled"}
    assert violations() == []


def test_cancelling_undoes_and_ends_cancelled(wire):
    process = submit("toy_undoable", subject="Toy 1", input={})
    begin(wire)
    wire.deliver_all(CALL)
    wire.deliver_all(REPLY)

    plan = operations.undo(process.pk, outcome="cancelled", actor="buyer", reason="changed mind")
    wire.run_until_idle()

    # The branches are under way: each ends, and is undone with the rest.
    assert {planned.name for planned in plan.undo} == {"undo_left", "undo_right", "undo_top"}
    assert state(process) == "cancelled"
    assert sorted(undone_steps()[:2]) == ["undo_left", "undo_right"]
    assert undone_steps()[2:] == ["undo_top"]
    entry = Journal.objects.get(event="compensating")
    assert (entry.actor, entry.detail["reason"]) == ("buyer", "changed mind")


def test_past_the_point_of_no_return_nothing_is_undone(wire):
    toy.script["toy.mailer"] = failing(Unavailable("busy", "later", no_effect=True))
    process = submit("toy_undoable", subject="Toy 1", input={})
    run(wire)
    assert wire.states(process)["bottom"] == "processed"
    before = list(Journal.objects.values())

    with pytest.raises(StateError, match="point of no return"):
        operations.undo(process.pk, outcome="cancelled", actor="buyer", reason="too late")

    assert list(Journal.objects.values()) == before
    assert state(process) == "processing"


@pytest.mark.parametrize("outcome", ["cancelled", "compensated"])
def test_what_is_over_or_on_its_way_back_is_not_turned_round(wire, outcome):
    done = submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()
    back = submit("toy_undoable", subject="Toy 2", input={})
    Process.objects.filter(pk=back.pk).update(state="compensating", outcome="cancelled")

    for process, said in ((done, "nothing to undo"), (back, "being undone already")):
        with pytest.raises(StateError, match=said):
            operations.undo(process.pk, outcome=outcome, actor="buyer", reason="x")


@pytest.mark.fault("F39")
def test_an_undo_is_tried_again_until_it_works(wire):
    def fail_four_times(call: Call) -> dict[str, Any]:
        if call.attempt < 5:
            raise Transient("http_500", "oops")
        return {}

    toy.script["toy.undoer"] = fail_four_times
    toy.script["toy.delta"] = failing(Refused("declined", "no"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire, rounds=12)

    assert state(process) == "compensated"
    assert only(process, "undo_top").failure_count == 4
    assert not Alert.objects.exists()


@pytest.mark.fault("F39")
def test_a_stuck_undo_is_its_own_alert_and_can_be_resubmitted(wire):
    toy.script["toy.undoer"] = failing(Transient("http_500", "oops"))
    toy.script["toy.beta"] = failing(Refused("declined", "no"))
    process = submit("toy_undoable", subject="Toy 1", input={})

    run(wire, rounds=14)

    assert state(process) == "error"
    assert wire.states(process)["undo_right"] == "error"
    assert wire.states(process)["undo_top"] == "waiting"
    assert only(process, "undo_right").failure_count == 10
    assert list(Alert.objects.values_list("code", "times")) == [("undo_stuck", 1)]
    assert violations() == []

    del toy.script["toy.undoer"]
    operations.resubmit(process.pk, actor="operator:ann", reason="service is back")
    run(wire)

    assert state(process) == "compensated"
    assert wire.states(process)["top"] == "compensated"
    assert violations() == []


@pytest.mark.fault("F6")
def test_a_compensation_survives_every_message_lost(wire):
    toy.script["toy.delta"] = failing(Refused("declined", "no"))
    process = submit("toy_undoable", subject="Toy 1", input={})
    for _ in range(60):
        if state(process) == "compensated":
            break
        begin(wire)
        for task in (CALL, REPLY):
            wire.deliver_all(task)
        wire.drop_all()
        pass_time(60)
        supervisor.sweep()

    assert state(process) == "compensated"
    # Also what was refused: its first call is in doubt, for the process that made it has died.
    assert len(set(toy.undone)) == 4
    assert set(undone_steps()) == {"undo_left", "undo_right", "undo_bottom", "undo_top"}
    assert violations() == []


def test_the_agent_that_did_it_is_undone_by_its_own_undo(wire):
    toy.script["toy.alpha"] = failing(Permanent("no_route", "cannot deliver there", no_effect=True))
    toy.script["toy.gamma"] = failing(Refused("declined", "no"))
    process = submit("toy_fallback_undo", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "compensated"
    assert (len(toy.calls["toy.other_undoer"]), toy.undone) == (1, [])
    assert only(process, "unship").agent == "toy.other_undoer"


def test_a_step_that_waits_long_has_all_its_attempts_again(wire):
    toy.script["toy.alpha"] = failing(Permanent("http_404", "not there yet"))
    process = submit("toy_waiting", subject="Toy 1", input={})
    wire.run_until_idle()

    slow = only(process, "slow")
    assert (slow.state, slow.failure_count) == ("pending", 0)
    assert not Alert.objects.exists()
    del toy.script["toy.alpha"]
    pass_time(7100)
    wire.run_until_idle()
    assert state(process) == "processing"
    pass_time(200)
    run(wire)
    assert state(process) == "processed"


def test_a_branch_that_fails_while_its_process_is_in_error_is_tried_again_later(wire):
    toy.script["toy.alpha"] = failing(Permanent("http_404", "gone"))
    toy.script["toy.beta"] = failing(Transient("http_500", "oops"))
    process = submit("toy_parallel", subject="Toy 1", input={})
    wire.run_until_idle()
    assert state(process) == "error"
    assert wire.states(process)["b"] == "pending"

    toy.script.clear()
    operations.resubmit(process.pk, actor="operator:ann", reason="fixed")
    run(wire)

    assert state(process) == "processed"
    assert violations() == []


def test_a_fallback_after_one_without_an_undo_is_undone(wire):
    toy.script["toy.alpha"] = toy.script["toy.beta"] = failing(
        Permanent("no", "not there", no_effect=True)
    )
    toy.script["toy.gamma"] = failing(Refused("declined", "no"))
    process = submit("toy_chain_of_fallbacks", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "compensated"
    assert len(toy.calls["toy.other_undoer"]) == 1
    assert violations() == []


def test_an_unsafe_fallback_agent_is_called_once(wire):
    toy.script["toy.alpha"] = failing(Permanent("no", "not there", no_effect=True))
    toy.script["toy.mailer"] = failing(Transient("http_500", "sent it, or not"))
    process = submit("toy_unsafe_fallback", subject="Toy 1", input={})

    run(wire, rounds=5)

    assert state(process) == "error"
    assert len(toy.calls["toy.mailer"]) == 1


def test_a_refusal_of_an_optional_step_undoes_nothing(wire):
    toy.script["toy.mailer"] = failing(Refused("unwanted", "no mail, please"))
    process = submit("toy_optional", subject="Toy 1", input={})

    run(wire)

    assert state(process) == "processed"
    assert wire.states(process)["mail"] == "skipped"


def test_what_waited_long_breaks_no_invariant(wire):
    toy.script["toy.alpha"] = failing(Transient("http_500", "oops"))
    submit("toy_waiting", subject="Toy 1", input={})

    run(wire, rounds=4)

    assert Journal.objects.filter(event="waits_long").exists()
    assert violations() == []
