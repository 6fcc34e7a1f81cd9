"""Running bundles: who replies, who is silent, and whose writes stay."""

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

from tests.integration.conftest import only
from tests.toyflow import agents as toy
from workers import scheduler, tasks
from workers.agent import call_pool, shift
from workers.agent.call_pool import Calls
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.exceptions import Permanent, Transient, Unavailable
from workers.logs import call_fields
from workers.models import Journal, Process, Step
from workers.protocol.messages import Bundle
from workers.store.expire import expire_claims
from workers.testing import Wire, pass_time
from workers.wire import dispatch

pytestmark = pytest.mark.django_db


#: As it is without the wire of tests.
LATER = dispatch.WakeUp.later


def bundle_of(wire: Wire) -> Bundle:
    (message,) = wire.of(dispatch.RUN_BUNDLE)
    wire.messages.remove(message)
    return Bundle.from_wire(message.body[0])


def replies_on(wire: Wire) -> list[dict[str, Any]]:
    return [reply for sent in wire.of(dispatch.SETTLE) for reply in sent.body[0]["replies"]]


def submitted(workflow: str = "toy_line", timeout: int | None = None) -> Process:
    process = submit(workflow, subject="Toy 1", input={"n": 1})
    if timeout is not None:
        Step.objects.filter(process=process).update(timeout_seconds=timeout)
    scheduler.advance()
    return process


def test_an_agent_gets_its_payload_and_the_same_key_at_every_attempt(wire: Wire) -> None:
    seen: list[Call] = []
    toy.script["toy.alpha"] = lambda call: seen.append(call) or {}  # type: ignore[func-returns-value]
    process = submitted()
    shift.perform(bundle_of(wire))
    wire.drop_all()
    pass_time(40)
    expire_claims.expire("supervisor")
    pass_time(40)
    scheduler.advance()
    shift.perform(bundle_of(wire))

    assert [(c.payload, c.step, c.attempt) for c in seen] == [
        ({"n": 1}, "one", 1),
        ({"n": 1}, "one", 2),
    ]
    assert len({call.key for call in seen}) == 1
    assert seen[0].key == only(process, "one").idempotency_key


@pytest.mark.parametrize(
    ("is_serial", "limits"),
    [
        pytest.param(True, (30, 40), id="alone: the timeout"),
        pytest.param(False, (660, 670), id="taking more: the latest of what it may take"),
    ],
)
def test_the_soft_limit_is_the_latest_complete_by_and_the_hard_one_follows(
    is_serial: bool, limits: tuple[int, int], wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toy.Alpha, "is_serial", is_serial)
    submitted()

    (message,) = wire.of(dispatch.RUN_BUNDLE)

    assert (message.options["soft_time_limit"], message.options["time_limit"]) == limits
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
def test_what_an_agent_raises_becomes_a_fault(wire: Wire, fault: Exception, kind: str) -> None:
    def fail(call: Call) -> dict[str, Any]:
        raise fault

    toy.script["toy.alpha"] = fail
    submitted()

    shift.perform(bundle_of(wire))

    (reply,) = replies_on(wire)
    assert reply["fault"]["kind"] == kind


def test_an_agent_that_exits_is_a_fault_of_its_own_call_alone(wire: Wire) -> None:
    toy.script["toy.alpha"] = lambda call: sys.exit(3) if call.subject == "Toy 1" else {}
    for number in (1, 2, 3):
        submit("toy_line", subject=f"Toy {number}", input={})
    scheduler.advance()

    assert shift.perform(bundle_of(wire)) == 3

    found = {reply["step_id"]: reply.get("fault") for reply in replies_on(wire)}
    faults = [fault for fault in found.values() if fault]
    assert [(fault["code"], fault["message"]) for fault in faults] == [
        ("agent_crashed", "SystemExit: 3")
    ]
    assert len(found) == 3


@pytest.mark.parametrize(
    ("workflow", "agent"), [("toy_line", "toy.alpha"), ("toy_local", "toy.writer")]
)
def test_whatever_a_call_logs_says_which_call(wire: Wire, workflow: str, agent: str) -> None:
    seen: list[dict[str, Any]] = []
    toy.script[agent] = lambda call: seen.append(call_fields()) or {}  # type: ignore[func-returns-value]
    process = submitted(workflow)
    step = Step.objects.filter(process=process).exclude(claim_id=None).get()

    shift.perform(bundle_of(wire))

    asked = {"subject": "Toy 1", "step": step.name, "attempt": 1, "claim": str(step.claim_id)}
    assert seen == [{"agent": agent, **asked, "trace": process.uid.hex}]
    assert call_fields() == {}


@pytest.mark.fault("F26")
@pytest.mark.parametrize("result", [{"text": "a\x00b"}, {"sum": Decimal("9.50")}, [1], "done"])
def test_a_result_that_cannot_be_stored_is_a_fault(wire: Wire, result: Any) -> None:
    """Another call of the service would bring it again."""
    toy.script["toy.alpha"] = lambda call: result
    submitted()

    shift.perform(bundle_of(wire))

    (reply,) = replies_on(wire)
    assert (reply["fault"]["kind"], reply["fault"]["code"]) == ("permanent", "result_unusable")
    assert not reply["fault"].get("no_effect")


@pytest.mark.fault("F7")
def test_a_claim_started_by_another_delivery_is_not_run(wire: Wire) -> None:
    submitted()
    bundle = bundle_of(wire)
    shift.perform(bundle)

    assert [shift.perform(bundle) for _ in range(9)] == [0] * 9

    assert len(toy.calls["toy.alpha"]) == 1
    assert len(replies_on(wire)) == 1


@pytest.mark.fault("F8")
def test_an_agent_past_its_deadline_says_nothing(wire: Wire) -> None:
    toy.script["toy.alpha"] = toy.sleeper(1.2)
    process = submitted(timeout=1)
    before = threading.active_count()

    assert shift.perform(bundle_of(wire)) == 0

    assert wire.messages == []
    step = only(process, "one")
    assert (step.state, step.failure_count) == ("processing", 0)
    assert threading.active_count() <= before + 1


def test_the_others_of_a_bundle_reply_although_one_is_late(wire: Wire) -> None:
    def sometimes(call: Call) -> dict[str, Any]:
        if call.subject == "Toy 1":
            time.sleep(1.2)
        return {}

    toy.script["toy.alpha"] = sometimes
    for number in range(8):
        submit("toy_line", subject=f"Toy {number}", input={})
    Step.objects.update(timeout_seconds=1)
    scheduler.advance()
    bundles = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    wire.drop_all()

    replied = [shift.perform(bundle) for bundle in bundles]

    assert len(bundles) == 1
    assert sum(replied) == 7
    assert len(replies_on(wire)) == 7


def test_the_soft_limit_ends_the_waiting_and_sends_nothing_more(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.script["toy.alpha"] = toy.sleeper(0.3)
    submitted()
    real = Calls.take
    struck = []

    def strike(*args: Any, **kwargs: Any) -> Any:
        if not struck:
            struck.append(True)
            raise SoftTimeLimitExceeded
        return real(*args, **kwargs)

    monkeypatch.setattr(Calls, "take", strike)

    assert shift.perform(bundle_of(wire)) == 0
    assert wire.messages == []


def test_the_soft_limit_s_signal_waits_until_a_write_is_over() -> None:
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


def test_the_main_thread_never_shuts_itself_off_from_the_signal() -> None:
    from workers.runtime.soft_limit import block_soft_limit

    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())

    block_soft_limit()

    assert signal.pthread_sigmask(signal.SIG_SETMASK, before) == before


@pytest.mark.fault("F11")
def test_a_reply_the_broker_refuses_is_filed_on_its_row(wire: Wire) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    wire.is_down = True

    assert shift.perform(bundle) == 1

    assert only(process, "one").reply["result"] == {"by": "toy.alpha"}
    wire.is_down = False
    wire.run_until_idle()
    assert wire.states(process) == {"one": "processed", "two": "processed"}


def test_an_unsafe_agent_s_reply_is_always_filed(wire: Wire) -> None:
    process = submit("toy_optional", subject="Toy 1", input={})

    wire.run_until_idle()

    assert wire.states(process) == {"work": "processed", "mail": "processed"}
    assert Journal.objects.filter(event="reply_filed").count() == 1


@pytest.mark.fault("F8")
def test_a_local_agent_that_wakes_after_its_deadline_has_its_writes_rolled_back(
    wire: Wire,
) -> None:
    process = submitted("toy_local")

    def oversleep(call: Call) -> dict[str, Any]:
        pass_time(31)
        return {}

    toy.script["toy.writer"] = oversleep

    assert shift.perform(bundle_of(wire)) == 0

    assert not Group.objects.exists()
    assert wire.messages == []
    assert only(process, "write").reply is None
    assert not Journal.objects.filter(event="reply_filed").exists()


@pytest.mark.fault("F9")
def test_a_local_agent_whose_claim_was_superseded_has_its_writes_rolled_back(wire: Wire) -> None:
    process = submitted("toy_local")

    def lose_the_claim(call: Call) -> dict[str, Any]:
        Step.objects.filter(process=process).update(claim_id="0" * 32)
        return {}

    toy.script["toy.writer"] = lose_the_claim

    assert shift.perform(bundle_of(wire)) == 0
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
def test_a_local_agent_that_fails_keeps_its_fault_and_not_its_writes(
    wire: Wire, error: Exception, kind: str
) -> None:
    def fail(call: Call) -> dict[str, Any]:
        raise error

    toy.script["toy.writer"] = fail
    process = submitted("toy_local")

    assert shift.perform(bundle_of(wire)) == 1

    assert not Group.objects.exists()
    fault = only(process, "write").reply["fault"]
    assert fault["kind"] == kind
    assert "CONTEXT" not in fault["message"]


def test_a_bundle_of_an_unknown_agent_is_left_to_those_who_know_it(wire: Wire) -> None:
    process = submitted()
    body = bundle_of(wire).to_wire()

    tasks.run_bundle_now({**body, "agent": "toy.nobody"})

    assert only(process, "one").started_at is None


@pytest.mark.parametrize("body", [None, 5, {}, {"version": 9}], ids=repr)
def test_a_message_that_is_none_of_ours_is_dropped(body: Any) -> None:
    tasks.run_bundle_now(body)
    tasks.settle_now(body)


def test_a_wake_up_that_the_broker_refuses_costs_nothing(wire: Wire) -> None:
    wire.is_down = True

    assert dispatch.wake_scheduler() is False


def test_a_wake_up_thread_lets_no_soft_limit_through() -> None:
    seen: queue.Queue[set[int]] = queue.Queue()

    def look() -> bool:
        seen.put(signal.pthread_sigmask(signal.SIG_BLOCK, set()))
        return True

    dispatch._WakeUpThread(look, 0).request()

    assert signal.SIGUSR1 in seen.get(timeout=5)


def test_a_wake_up_later_leaves_from_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    nudged: queue.Queue[str] = queue.Queue()
    wake_up = dispatch.WakeUp("workers.look", "a queue")
    monkeypatch.setattr(wake_up, "send", lambda: nudged.put(threading.current_thread().name))

    LATER(wake_up)

    assert nudged.get(timeout=5) == "wake-up"


Toy = Callable[..., Process]


def test_an_agent_s_thread_leaves_the_soft_limit_s_signal_to_the_main_thread() -> None:
    pool = call_pool._Threads()()

    masked = pool.submit(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, set())).result()

    assert signal.SIGUSR1 in masked
    pool.shutdown()


def test_a_process_that_ends_waits_for_the_hints_it_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_a_forked_process_waits_for_no_thread_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dispatch, "_wake_up_threads", [])
    may_leave = threading.Event()
    thread = dispatch._WakeUpThread(lambda: may_leave.wait(10), 0)
    thread.request()
    assert not dispatch.flush(0)
    dispatch._wake_up_threads[:] = [(-1, thread)]

    assert dispatch.flush(0)
    may_leave.set()
