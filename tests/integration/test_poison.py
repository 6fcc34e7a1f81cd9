"""One message, reply or row that nobody can use holds up no other."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import OperationalError

from tests.integration.conftest import NOW, begin, claim, only
from tests.toyflow import agents as toy
from workers import scheduler, supervisor
from workers.agent import replies
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import Workflow, step
from workers.exceptions import BrokerRefused, Permanent, Unavailable
from workers.models import Alert, Lease, Process, Step
from workers.protocol.messages import Reply
from workers.rules.transitions import LockedProcess
from workers.store import leases
from workers.store.expire import expire_claims
from workers.store.locked import load
from workers.store.settle import filed_replies
from workers.testing import Wire
from workers.testing.agent_processes import CALL, REPLY
from workers.testing.wire import Sent
from workers.wire import dispatch


def some(count: int) -> list[Process]:
    return [submit("toy_line", subject=f"Toy {number}", input={}) for number in range(count)]


def answer(wire: Wire) -> Sent:
    """Have a process take and make the first calls; return the replies that it has to settle."""
    begin(wire)
    wire.deliver_all(CALL)
    (sent,) = wire.of(REPLY)
    return sent


def refuse_writes(
    monkeypatch: pytest.MonkeyPatch, is_refused: Callable[[LockedProcess], bool]
) -> None:
    real = load.write_part

    def write(processes: Any, **options: Any) -> Any:
        if any(map(is_refused, processes)):
            raise ValueError("unsupported Unicode escape")
        return real(processes, **options)

    monkeypatch.setattr(load, "write_part", write)


def test_a_reply_that_cannot_be_stored_is_a_failure_of_its_own_step_only(wire, monkeypatch):
    processes = some(5)
    answered = answer(wire)
    poisoned = only(processes[2], "one").pk
    refuse_writes(
        monkeypatch,
        lambda locked: any(row.id == poisoned and row.state == "processed" for row in locked.steps),
    )

    wire.deliver(answered)
    wire.run_until_idle()

    states = [wire.states(process)["one"] for process in processes]
    assert states == ["processed", "processed", "pending", "processed", "processed"]
    row = only(processes[2], "one")
    assert (row.fault["code"], row.failure_count) == ("reply_unusable", 1)
    # What the call did is unknown: nothing may fall back or skip an undo on its account.
    assert (row.may_have_effect, row.is_in_doubt) == (True, True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, Decimal("9.90")], ids=repr)
def test_what_no_json_has_is_not_stored_as_something_else(wire, value):
    """No agent of ours sends one: every door looks. It must not come in with others, either."""
    processes = [submit("toy_line", subject=f"Toy {n}", input={}, now=NOW) for n in range(3)]
    taken = {one.process_id: one for one in claim()}
    wire.drop_all()
    results = [{"n": 1}, {"n": 2, "price": value}, {"n": 3}]
    batch = [
        Reply(taken[one.pk].step_id, taken[one.pk].claim_id, 1, result=result)
        for one, result in zip(processes, results, strict=True)
    ]

    assert scheduler.settle(batch, NOW).applied == 3

    rows = [only(one, "one") for one in processes]
    assert [(row.state, row.result) for row in rows] == [
        ("processed", {"n": 1}),
        ("pending", None),
        ("processed", {"n": 3}),
    ]
    assert rows[1].fault["code"] == "reply_unusable"


def test_a_step_that_nothing_can_be_written_to_holds_up_no_other(wire, monkeypatch):
    processes = some(3)
    answered = answer(wire)
    broken = only(processes[0], "one").pk
    refuse_writes(monkeypatch, lambda locked: broken in locked.step_origins)

    wire.deliver(answered)

    states = [wire.states(process)["one"] for process in processes]
    assert states == ["processing", "processed", "processed"]


@pytest.mark.fault("F16")
def test_a_database_that_is_away_is_no_poison(wire, monkeypatch):
    (process,) = some(1)
    answered = answer(wire)

    def away(*given: Any, **options: Any) -> None:
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(load, "write_part", away)
        patch.setattr(filed_replies, "file", away)
        patch.setattr(replies.connection, "close", lambda: None)
        wire.deliver(answered)

    assert wire.states(process)["one"] == "processing"
    # Its process keeps the answer, and hands it over again.
    (kept,) = wire.of(REPLY)
    assert kept.replies == answered.replies
    wire.run_until_idle()
    assert set(wire.states(process).values()) == {"processed"}
    assert len(toy.calls["toy.alpha"]) == 1


def test_a_filed_reply_of_unknown_form_is_a_failure_of_its_step_and_not_the_scheduler_s(wire):
    (process,) = some(1)
    begin(wire)
    Step.objects.filter(process=process, name="one").update(
        reply={"fault": {"kind": "from the future"}}
    )
    wire.drop_all()

    wire.run_until_idle()

    row = only(process, "one")
    assert (row.state, row.fault["code"]) == ("pending", "reply_unreadable")
    assert (row.failure_count, row.is_in_doubt, row.reply) == (1, True, None)


@pytest.mark.parametrize(
    ("fault", "kept"),
    [
        (Unavailable("x", "later", retry_after=1.7e12), 86_400.0),
        (Unavailable("x", "later", retry_after=float("nan")), None),
        (Unavailable("x", "later", retry_after=-5), None),
        (Permanent("bad\x00code", "half \ud800 char"), None),
    ],
    ids=["epoch", "NaN", "negative", "text"],
)
def test_an_absurd_fault_is_made_storable(wire, fault, kept):
    def fail(call: Call) -> dict[str, Any]:
        raise fault

    toy.script["toy.alpha"] = fail
    (process,) = some(1)

    wire.run_until_idle()

    row = only(process, "one")
    assert row.state in ("pending", "error")
    assert row.fault["retry_after"] == kept
    assert "\x00" not in row.fault["code"]


def test_a_payload_that_cannot_be_sent_ends_its_own_step_only(wire):
    register_workflow(
        Workflow("toy_odd", 1, (step("one", "toy.alpha", request=lambda i, r: {"x": object()}),))
    )
    odd = submit("toy_odd", subject="Odd", input={})
    (good,) = some(1)

    wire.run_until_idle()

    assert wire.states(odd) == {"one": "error"}
    assert set(wire.states(good).values()) == {"processed"}


def test_one_agent_s_queue_that_refuses_holds_up_no_other(wire, monkeypatch):
    monkeypatch.setattr(toy.Gamma, "queue", "sas.agents.slow")
    real = wire.take

    def refuse(name: str, body: list[Any], to: str, **options: Any) -> None:
        if to == toy.Alpha.queue:
            raise BrokerRefused("406 PRECONDITION_FAILED")
        real(name, body, to, **options)

    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "_send", refuse)
        (process,) = some(1)
        narrow = submit("toy_narrow", subject="Narrow", input={})
        wire.run_until_idle()

        assert wire.states(narrow) == {"only": "processed"}
        one = only(process, "one")
        assert (one.state, one.failure_count) == ("pending", 0)

    wire.run_until_idle()
    assert set(wire.states(process).values()) == {"processed"}


@pytest.mark.parametrize("seconds", [10, 0.2], ids=["as shipped", "of the shortest poll"])
def test_a_deadline_is_extended_once_and_then_expires(wire, seconds):
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    claim()
    # The shortest time after its deadline: what is left of a deadline tells whether it is as set.
    late = only(process, "one").complete_by + timedelta(milliseconds=1)
    assert expire_claims.extend_gap(60, seconds, late) == 1

    # However slow the sweeps are from now on.
    assert expire_claims.extend_gap(60, seconds, late + timedelta(seconds=30)) == 0
    assert expire_claims.expire("supervisor", late + timedelta(seconds=30)).reset == 1
    assert only(process, "one").failure_count == 1


def test_a_sweep_that_fails_remembers_the_gap(wire, monkeypatch):
    supervisor.sweep()
    Lease.objects.update(performed_at="2026-01-01T00:00Z")

    def fail() -> None:
        raise OperationalError("the database went away again")

    with monkeypatch.context() as patch:
        patch.setattr(expire_claims, "look", fail)
        with pytest.raises(OperationalError):
            supervisor.sweep()

    gap = leases.seconds_since(leases.SWEEP)
    assert gap is not None
    assert gap > 1000
    assert supervisor.sweep().had_lease


@pytest.mark.fault("F16")
def test_a_local_agent_s_fault_is_filed_again_while_the_database_is_away(wire, monkeypatch):
    def fail(call: Call) -> dict[str, Any]:
        raise Permanent("out_of_stock", "none left")

    toy.script["toy.writer"] = fail
    process = submit("toy_local", subject="Toy 1", input={})
    begin(wire)
    real, failures = filed_replies.file, [1, 1]

    def flaky(reply: Reply, worker: str) -> bool:
        if failures:
            failures.pop()
            raise OperationalError("server closed the connection")
        return real(reply, worker)

    monkeypatch.setattr(filed_replies, "file", flaky)
    monkeypatch.setattr(replies, "AGAIN_SECONDS", 0)
    monkeypatch.setattr(replies.connection, "close", lambda: None)

    wire.deliver_all(CALL)

    assert failures == []
    write = only(process, "write")
    assert (write.state, write.fault["code"]) == ("error", "out_of_stock")


def test_an_optional_step_that_expires_in_a_process_in_error_is_skipped(wire):
    register_workflow(
        Workflow(
            "toy_side", 1, (step("main", "toy.alpha"), step("side", "toy.mailer", optional=True))
        )
    )
    process = submit("toy_side", subject="Toy 1", input={}, now=NOW)
    Process.objects.filter(pk=process.pk).update(state="error")
    Step.objects.filter(process=process, name="side").update(
        state="error", not_before=None, fault={"message": "no reply"}
    )
    Process.objects.filter(pk=process.pk).update(needs_decision=True)

    scheduler.advance()

    assert wire.states(process)["side"] == "skipped"
    assert Alert.objects.filter(code="step_skipped").count() == 1


def test_the_window_of_the_agent_that_held_the_claim_is_freed(wire):
    from workers.models import Flow

    Flow.objects.filter(agent="toy.alpha").update(window=3)
    for number in range(8):
        submit("toy_fallback", subject=f"Toy {number}", input={})
    refusal = Permanent("no", "no", no_effect=True)
    toy.script["toy.alpha"] = lambda call: (_ for _ in ()).throw(refusal)
    scheduler.advance()

    while wire.messages:
        wire.deliver(wire.messages[0])
        in_flight = Step.objects.filter(agent="toy.alpha", state="processing").count()
        assert in_flight <= 3

    assert set(Process.objects.values_list("state", flat=True)) == {"processed"}
