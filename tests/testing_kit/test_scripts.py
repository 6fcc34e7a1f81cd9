"""Scripts: what a call does, and what the engine makes of it."""

from traceback import walk_tb
from typing import Any

import pytest
from django.contrib.auth.models import Group

from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import call_pool
from workers.client import callbacks
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Call, Deferred
from workers.exceptions import Permanent, Refused, Transient, Unavailable, UnknownAgent
from workers.models import Journal, Process, Step
from workers.testing import (
    Called,
    WorkerDied,
    always,
    assert_processed,
    dies,
    is_late,
    never_happened,
    runs,
    runs_then_dies,
    scripted,
)
from workers.testing.agent_processes import CALL, REPLY
from workers.wire import dispatch


def submitted(workflow: str = "toy_line", **input_: Any) -> Process:
    return submit(workflow, subject="Toy 1", input=input_)


def step(process: Process, name: str) -> Step:
    return Step.objects.get(process=process, name=name)


def test_each_item_is_one_call_and_then_the_real_agent_is_asked(wire, clock):
    process = submitted(n=7)

    with scripted(
        {"toy.alpha": [Unavailable("http_503", "busy"), Transient("http_500", "oops")]}
    ) as calls:
        wire.run_until_settled(clock)

    assert_processed(process)
    one, two = step(process, "one"), step(process, "two")
    assert calls == [
        Called("toy.alpha", "one", one.idempotency_key, 1, {"n": 7}),
        Called("toy.alpha", "one", one.idempotency_key, 2, {"n": 7}),
        Called("toy.alpha", "one", one.idempotency_key, 3, {"n": 7}),
        Called("toy.beta", "two", two.idempotency_key, 1, {"n": 7}),
    ]
    assert toy.calls["toy.alpha"] == [one.idempotency_key]


def test_a_dict_is_the_result_and_a_callable_is_called(wire, clock):
    process = submitted(n=7)

    with scripted({"toy.alpha": [{"id": 1}], "toy.beta": [lambda call: {"n": call.payload["n"]}]}):
        wire.run_until_settled(clock)

    assert step(process, "one").result == {"id": 1}
    assert step(process, "two").result == {"n": 7}
    assert toy.calls == {}


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        (Refused("declined", "no"), "compensated"),
        (Permanent("http_404", "gone"), "error"),
        (ZeroDivisionError("bug"), "processed"),
    ],
    ids=["refused", "permanent", "bug"],
)
def test_an_exception_is_raised(wire, clock, fault, state):
    process = submitted()

    with scripted({"toy.alpha": [fault]}):
        wire.run_until_settled(clock)

    assert Process.objects.get(pk=process.pk).state == state


@pytest.mark.parametrize(
    ("act", "was_run"),
    [(dies, False), (runs_then_dies, True), (is_late, True)],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_call_that_is_never_told_of_expires(wire, clock, act, was_run):
    process = submitted()

    with scripted({"toy.alpha": [act]}) as calls:
        wire.run_until_idle()
        one = step(process, "one")
        assert (one.state, one.reply, one.may_have_effect) == ("processing", None, True)
        assert one.started_at is not None
        assert toy.calls["toy.alpha"] == [one.idempotency_key] * was_run
        wire.run_until_settled(clock)

    assert_processed(process)
    assert Journal.objects.filter(event="expired").count() == 1
    assert [call.attempt for call in calls] == [1, 2, 1]


@pytest.mark.parametrize("act", [dies, runs_then_dies, is_late], ids=lambda act: act.name)
def test_a_local_agent_that_does_not_come_back_leaves_no_write(wire, clock, act):
    process = submitted("toy_local")

    with scripted({"toy.writer": [act]}):
        wire.run_until_idle()
        assert Group.objects.count() == 0
        wire.run_until_settled(clock)

    assert_processed(process)
    assert Group.objects.count() == 1


def test_a_process_dies_with_all_calls_that_it_holds(wire, clock):
    with scripted({"toy.alpha": [{}, dies]}) as calls:
        processes = [submitted("toy_fallback") for _ in range(3)]
        scheduler.advance()
        wire.deliver_all(dispatch.TAKE)
        wire.deliver_all(CALL)

    assert len(calls) == 2
    assert wire.messages == []
    at_work = Step.objects.filter(process__in=processes, started_at__isnull=False)
    assert at_work.filter(state="processing").count() == 3


def test_calls_and_their_replies_are_in_the_order_of_the_claims(wire, clock):
    for _ in range(20):
        submitted("toy_fallback")
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    (held,) = wire.of(CALL)

    wire.deliver(held)

    assert toy.calls["toy.alpha"] == [request["key"] for request in held.requests]
    (answered,) = wire.of(REPLY)
    steps = [request["step_id"] for request in held.requests]
    assert [reply.step_id for reply in answered.replies] == steps


def test_the_same_for_good(wire, clock):
    submitted()

    with scripted({"toy.alpha": [{}, always(Transient("http_500", "oops"))]}) as calls:
        submitted()
        wire.run_until_settled(clock)

    assert sorted(Process.objects.values_list("state", flat=True)) == ["error", "processed"]
    assert len([call for call in calls if call.agent == "toy.alpha"]) == 4


def test_a_fault_raised_for_the_tenth_time_is_like_the_first(wire):
    fault = Transient("http_500", "oops")
    depths: list[int] = []
    with scripted({"toy.alpha": [always(fault)]}):
        for _ in range(10):
            submitted("toy_fallback")
            wire.run_until_idle()
            depths.append(len(list(walk_tb(fault.__traceback__))))

    assert len(set(depths)) == 1


def test_what_is_done_otherwise_goes_for_unnamed_agents_and_for_lists_that_are_over(wire, clock):
    process = submitted("toy_diamond")

    with scripted({"toy.alpha": [runs]}, otherwise={"id": 1}):
        wire.run_until_settled(clock)

    results = dict(Step.objects.filter(process=process).values_list("name", "result"))
    assert results == {
        "top": {"by": "toy.alpha"},
        "left": {"id": 1},
        "right": {"id": 1},
        "bottom": {"id": 1},
    }


@pytest.mark.parametrize(
    ("probe", "calls_made"),
    [(never_happened, ["run", "probe", "run"]), ({"id": 7}, ["run", "probe"])],
    ids=["never happened", "happened"],
)
def test_a_queryable_agent_is_asked_after_a_call_in_doubt(wire, clock, probe, calls_made):
    process = submitted("toy_queried")

    with scripted({"toy.asker": [dies]}, otherwise={}, probes={"toy.asker": [probe]}) as calls:
        wire.run_until_settled(clock)

    assert_processed(process)
    assert ["probe" if call.is_probe else "run" for call in calls] == calls_made
    assert step(process, "pay").result == ({"id": 7} if probe == {"id": 7} else {})


@pytest.mark.parametrize(
    ("others", "asked"), [({}, 1), ({"otherwise": {}}, 0)], ids=["real", "scripted"]
)
def test_a_probe_no_list_says_anything_about_reaches_a_service_only_with_real_agents(
    wire, clock, others, asked
):
    process = submitted("toy_queried")

    with scripted({"toy.asker": [dies]}, **others):
        wire.run_until_settled(clock)

    assert_processed(process)
    assert len(toy.calls["toy.asker?"]) == asked


def test_a_deferral_leaves_the_step_to_an_answer(wire, clock):
    process = submitted("toy_answered")

    with scripted({"toy.alpha": [Deferred(600, question="Paid?")]}, otherwise={}):
        wire.run_until_idle()
        assert step(process, "ask").deferral is not None
        callbacks.complete_step(process.pk, "ask", {"yes": True}, actor="operator:ann")
        wire.run_until_settled(clock)

    assert_processed(process)
    assert step(process, "ask").result == {"yes": True}


def test_scripts_within_scripts_and_after_the_block_the_real_agents(wire):
    real, threads = registry.agent("toy.alpha"), call_pool.threads
    with scripted({"toy.alpha": [{"from": "outer"}]}) as outer:
        with scripted({"toy.alpha": [runs]}) as inner:
            first = submitted("toy_fallback")
            wire.run_until_idle()
        with pytest.raises(ZeroDivisionError), scripted({}):
            raise ZeroDivisionError
        second = submitted("toy_fallback")
        wire.run_until_idle()

    assert step(first, "ship").result == {"from": "outer"}
    assert step(second, "ship").result == {"by": "toy.alpha"}
    assert (len(outer), len(inner)) == (2, 1)
    assert registry.agent("toy.alpha") is real
    assert call_pool.threads is threads


def test_script_for_unknown_agent_is_refused():
    with pytest.raises(UnknownAgent), scripted({"toy.alpah": []}):
        pass


@pytest.mark.parametrize("item", [Unavailable, 7], ids=["a class", "a number"])
def test_what_no_call_can_do_is_refused_at_once(item):
    real = dict(registry._agents)

    with pytest.raises(TypeError, match="nothing that a"), scripted({"toy.delta": [item]}):
        pass

    assert registry._agents == real


def test_a_callable_sees_the_test_s_own_transaction(wire):
    """Calls are made in the test's thread, so on the test's connection."""
    seen: list[str] = []

    def look(call: Call) -> dict[str, Any]:
        seen.append(Step.objects.get(idempotency_key=call.key).state)
        return {}

    submitted()
    with scripted({"toy.alpha": [look]}):
        wire.run_until_idle()

    assert seen == ["processing"]


def test_nothing_of_the_engine_catches_a_worker_s_death():
    assert not issubclass(WorkerDied, Exception)
