"""Running calls: who replies, who is silent, and whose writes stay."""

import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.contrib.auth.models import Group
from django.db import OperationalError

from tests.factories import put
from tests.integration.conftest import begin, only, replies_on
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import call_pool, shift
from workers.agent.call_pool import Calls
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, Transient, Unavailable
from workers.logs import call_fields
from workers.models import Journal, Process, Step
from workers.protocol.messages import Reply
from workers.store.expire import expire_claims
from workers.testing import Wire, pass_time
from workers.testing.agent_processes import CALL
from workers.wire import dispatch

#: As it is without the wire of tests.
LATER = dispatch.WakeUp.later


def submitted(workflow: str = "toy_line") -> Process:
    return submit(workflow, subject="Toy 1", input={"n": 1})


def called(wire: Wire) -> list[Reply]:
    """Have processes take all due steps and make their calls; return the replies they hold."""
    begin(wire)
    wire.deliver_all(CALL)
    return replies_on(wire)


def test_an_agent_gets_its_payload_and_the_same_key_at_every_attempt(wire):
    seen: list[Call] = []
    toy.script["toy.alpha"] = lambda call: seen.append(call) or {}  # type: ignore[func-returns-value]
    process = submitted()
    called(wire)
    wire.drop_all()
    pass_time(40)
    expire_claims.expire("supervisor")
    pass_time(40)
    called(wire)

    assert [(c.payload, c.step, c.attempt) for c in seen] == [
        ({"n": 1}, "one", 1),
        ({"n": 1}, "one", 2),
    ]
    assert len({call.key for call in seen}) == 1
    assert seen[0].key == only(process, "one").idempotency_key


def test_a_task_that_takes_calls_ends_after_the_longest_that_it_may_take(wire):
    submitted()
    scheduler.advance()

    (message,) = wire.of(dispatch.TAKE)

    assert (message.options["soft_time_limit"], message.options["time_limit"]) == (660, 670)
    assert message.queue == "sas.agents"


@pytest.mark.fault("F26")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Unavailable("http_503", "busy", retry_after=9), "unavailable"),
        (Transient("http_500", "oops"), "transient"),
        (Permanent("http_404", "gone"), "permanent"),
        (ZeroDivisionError("bug"), "transient"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_an_agent_raises_becomes_a_fault(wire, fault, kind):
    def fail(call: Call) -> dict[str, Any]:
        raise fault

    toy.script["toy.alpha"] = fail
    submitted()

    (reply,) = called(wire)

    assert reply.kind == kind


def test_an_agent_that_exits_is_a_fault_of_its_own_call_alone(wire):
    toy.script["toy.alpha"] = lambda call: sys.exit(3) if call.subject == "Toy 1" else {}
    processes = [submit("toy_line", subject=f"Toy {number}", input={}) for number in (1, 2, 3)]

    shift.take("sas.agents")

    bad, *others = [only(process, "one") for process in processes]
    assert (bad.state, bad.failure_count) == ("pending", 1)
    assert (bad.fault["code"], bad.fault["message"]) == ("agent_crashed", "SystemExit: 3")
    assert [step.state for step in others] == ["processed"] * 2


@pytest.mark.parametrize(
    ("workflow", "agent"), [("toy_line", "toy.alpha"), ("toy_local", "toy.writer")]
)
def test_whatever_a_call_logs_says_which_call(wire, workflow, agent):
    seen: list[dict[str, Any]] = []
    toy.script[agent] = lambda call: seen.append(call_fields()) or {}  # type: ignore[func-returns-value]
    process = submitted(workflow)
    begin(wire)
    step = Step.objects.filter(process=process).exclude(claim_id=None).get()

    wire.deliver_all(CALL)

    asked = {"subject": "Toy 1", "step": step.name, "attempt": 1, "claim": str(step.claim_id)}
    assert seen == [{"agent": agent, **asked, "trace": process.uid.hex}]
    assert call_fields() == {}


@pytest.mark.fault("F26")
@pytest.mark.parametrize(
    "result", [{"text": "a\x00b"}, {"sum": Decimal("9.50")}, [1], "done", True, False, 0, "", []]
)
def test_a_result_that_cannot_be_stored_is_a_fault(wire, result):
    """Another call of the service would bring it again."""
    toy.script["toy.alpha"] = lambda call: result
    submitted()

    (reply,) = called(wire)

    assert reply.fault is not None
    assert (reply.kind, reply.fault.code) == ("permanent", "result_unusable")
    assert not reply.fault.no_effect


@pytest.mark.fault("F8")
def test_an_agent_past_its_deadline_says_nothing_and_holds_up_no_other(wire):
    def sometimes(call: Call) -> dict[str, Any]:
        if call.subject == "Toy 0":
            time.sleep(1.2)
        return {}

    toy.script["toy.alpha"] = sometimes
    late, *others = [submit("toy_line", subject=f"Toy {n}", input={}) for n in range(8)]
    put(Step.objects.filter(process=late), timeout_seconds=1)
    wire.drop_all()
    before = threading.active_count()

    shift.take("sas.agents")

    step = only(late, "one")
    assert (step.state, step.failure_count) == ("processing", 0)
    assert [only(process, "one").state for process in others] == ["processed"] * 7
    # A slow machine leaves what is due to the next shift.
    assert {sent.task for sent in wire.messages} <= {dispatch.TAKE}
    assert threading.active_count() <= before + 8


def test_the_soft_limit_ends_the_waiting_and_sends_nothing_more(wire, monkeypatch):
    toy.script["toy.alpha"] = toy.sleeper(0.3)
    process = submitted()
    wire.drop_all()
    real = Calls.take
    struck = []

    def strike(*args: Any, **kwargs: Any) -> Any:
        if not struck:
            struck.append(True)
            raise SoftTimeLimitExceeded
        return real(*args, **kwargs)

    monkeypatch.setattr(Calls, "take", strike)

    shift.take("sas.agents")

    assert wire.messages == []
    assert only(process, "one").state == "processing"


def test_the_soft_limit_s_signal_waits_until_a_write_is_over():
    from workers.runtime.soft_limit import soft_limit_masked

    struck: list[str] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: struck.append("signal"))
    try:
        with soft_limit_masked():
            signal.raise_signal(signal.SIGUSR1)
            assert struck == []
        assert struck == ["signal"]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_main_thread_never_shuts_itself_off_from_the_signal():
    from workers.runtime.soft_limit import block_soft_limit

    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())

    block_soft_limit()

    assert signal.pthread_sigmask(signal.SIG_SETMASK, before) == before


@pytest.mark.fault("F8")
def test_a_local_agent_that_wakes_after_its_deadline_has_its_writes_rolled_back(wire):
    process = submitted("toy_local")

    def oversleep(call: Call) -> dict[str, Any]:
        pass_time(31)
        return {}

    toy.script["toy.writer"] = oversleep

    assert called(wire) == []

    assert not Group.objects.exists()
    assert wire.messages == []
    assert (only(process, "write").state, only(process, "write").reply) == ("processing", None)
    assert not Journal.objects.filter(event="reply_filed").exists()


@pytest.mark.fault("F9")
def test_a_local_agent_whose_claim_was_superseded_has_its_writes_rolled_back(wire):
    process = submitted("toy_local")

    def lose_the_claim(call: Call) -> dict[str, Any]:
        Step.objects.filter(process=process).update(claim_id="0" * 32)
        return {}

    toy.script["toy.writer"] = lose_the_claim

    assert called(wire) == []

    assert toy.calls["toy.writer"]
    assert not Group.objects.exists()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Permanent("out_of_stock", "none left"), "permanent"),
        (OperationalError("lock timeout\nCONTEXT: a row"), "unavailable"),
        (RuntimeError("bug"), "transient"),
    ],
    ids=["permanent", "database", "bug"],
)
def test_a_local_agent_that_fails_keeps_its_fault_and_not_its_writes(wire, error, kind):
    def fail(call: Call) -> dict[str, Any]:
        raise error

    toy.script["toy.writer"] = fail
    process = submitted("toy_local")

    assert called(wire) == []

    assert not Group.objects.exists()
    fault = only(process, "write").fault
    assert fault["kind"] == kind
    assert "CONTEXT" not in fault["message"]


@pytest.mark.parametrize("state", ["55P03", "57014", "40P01"])
def test_a_local_agent_that_waits_for_rows_says_so(wire, state):
    """The database answers: an operator would look for an outage."""

    def wait(call: Call) -> dict[str, Any]:
        waited = OperationalError("canceling statement due to statement timeout")
        raise waited from type("Canceled", (Exception,), {"sqlstate": state})()

    toy.script["toy.writer"] = wait
    process = submitted("toy_local")

    begin(wire)
    wire.deliver_all(CALL)

    fault = only(process, "write").fault
    assert (fault["kind"], fault["code"]) == ("unavailable", "rows_locked")


def test_a_wake_up_that_the_broker_refuses_costs_nothing(wire):
    wire.is_down = True

    assert dispatch.wake_scheduler() is False
    assert dispatch.wake_agents("sas.agents") is False


def test_a_wake_up_thread_lets_no_soft_limit_through():
    seen: queue.Queue[set[int]] = queue.Queue()

    def look() -> bool:
        seen.put(signal.pthread_sigmask(signal.SIG_BLOCK, set()))
        return True

    dispatch._WakeUpThread(look, 0).request()

    assert signal.SIGUSR1 in seen.get(timeout=5)


def test_a_wake_up_later_leaves_from_a_thread_of_its_own(monkeypatch):
    nudged: queue.Queue[str] = queue.Queue()
    wake_up = dispatch.WakeUp("workers.look", "a queue")
    monkeypatch.setattr(wake_up, "send", lambda: nudged.put(threading.current_thread().name))

    LATER(wake_up)

    assert nudged.get(timeout=5) == "wake-up"


Toy = Callable[..., Process]


def test_an_agent_s_thread_leaves_the_soft_limit_s_signal_to_the_main_thread():
    pool = call_pool._Threads()()

    masked = pool.submit(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, set())).result()

    assert signal.SIGUSR1 in masked
    pool.shutdown()


def test_a_process_that_ends_waits_for_the_hints_it_asked_for(monkeypatch):
    may_leave, left = threading.Event(), []

    def send() -> bool:
        may_leave.wait(10)
        left.append(1)
        return True

    monkeypatch.setattr(dispatch, "_wake_up_threads", [])
    assert dispatch.flush(0)
    thread = dispatch._WakeUpThread(send, 0)
    thread.request()
    assert not dispatch.flush(0.01)
    may_leave.set()
    assert dispatch.flush(10)
    assert left == [1]


def test_a_forked_process_waits_for_no_thread_of_its_parent(monkeypatch):
    monkeypatch.setattr(dispatch, "_wake_up_threads", [])
    may_leave = threading.Event()
    thread = dispatch._WakeUpThread(lambda: may_leave.wait(10), 0)
    thread.request()
    assert not dispatch.flush(0)
    dispatch._wake_up_threads[:] = [(-1, thread)]

    assert dispatch.flush(0)
    may_leave.set()
