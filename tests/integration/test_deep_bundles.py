"""Bundles deeper than what goes side by side: quick calls follow, others are passed on."""

import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import OperationalError

from tests.integration.test_runtime import replies_on
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import runner
from workers.client.submission import submit_many
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.definitions.effects import Effect
from workers.exceptions import Transient
from workers.models import Step
from workers.protocol.messages import MESSAGE_BYTES, Bundle, parcels
from workers.rules.rows import NewProcess
from workers.store.claims import claim_steps
from workers.testing import Wire
from workers.wire import dispatch

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few_side_by_side(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SAS_BUNDLE_LIMIT, settings.SAS_BUNDLE_DEPTH, settings.SAS_AGENT_SLOTS = 4, 16, 1
    # No test waits for what is quick on this machine.
    monkeypatch.setattr(runner, "QUICK_SECONDS", 0.5)


def bundles(wire: Wire, orders: int, input: dict[str, Any] | None = None) -> list[Bundle]:
    submit_many("toy_line", [NewProcess(f"Toy {n}", input or {}) for n in range(orders)])
    scheduler.advance()
    found = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    wire.drop_all()
    return found


def sizes(wire: Wire) -> list[int]:
    return [len(sent.body[0]["requests"]) for sent in wire.of(dispatch.RUN_BUNDLE)]


def started() -> int:
    return Step.objects.filter(name="one", started_at__isnull=False).count()


@pytest.mark.parametrize(("orders", "depths"), [(7, [4, 3]), (8, [8]), (20, [16, 4])])
def test_a_bundle_is_deep_where_twice_as_many_wait_as_go_side_by_side(
    wire: Wire, orders: int, depths: list[int]
) -> None:
    assert [len(bundle.requests) for bundle in bundles(wire, orders)] == depths


def test_an_agent_that_names_its_limit_gets_no_deeper_bundles(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry.agent("toy.alpha"), "bundle_limit", 3, raising=False)

    assert [len(bundle.requests) for bundle in bundles(wire, 12)] == [3, 3, 3, 3]


def test_quick_calls_follow_one_another(wire: Wire) -> None:
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    assert (len(replies_on(wire)), started(), sizes(wire)) == (16, 16, [])


def test_no_more_follow_than_the_pace_of_the_first_lets_end_in_time(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces: list[tuple[int, float]] = []
    monkeypatch.setattr(runner, "_more_at_this_pace", lambda *pace: paces.append(pace) or 5)
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 9

    [(ended, seconds)] = paces
    assert ended == 4
    assert 0 < seconds < 0.5
    assert (started(), messages(wire), sizes(wire)) == (9, [9], [4, 3])
    passed = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    assert tuple(one for part in passed for one in part.requests) == bundle.requests[9:]


@pytest.mark.parametrize(("seconds", "more"), [(0.5, 4), (0.1, 20), (0.09, 22), (0.0, 20_000)])
def test_the_pace_of_the_first_says_how_many_follow(seconds: float, more: int) -> None:
    assert runner._more_at_this_pace(4, seconds) == more


def messages(wire: Wire) -> list[int]:
    return [len(sent.body[0]["replies"]) for sent in wire.of(dispatch.SETTLE)]


def test_what_both_parts_came_to_is_one_message(wire: Wire) -> None:
    (bundle,) = bundles(wire, 16)

    runner.perform(bundle)

    assert messages(wire) == [16]


def test_what_must_not_be_repeated_is_not_kept_back(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry.agent("toy.alpha"), "effect", Effect.UNSAFE)
    told: list[list[int]] = []
    real = runner._start

    def start(agent: Any, requests: Any, bundle: Any) -> Any:
        told.append(sorted(Step.objects.filter(reply__isnull=False).values_list("pk", flat=True)))
        return real(agent, requests, bundle)

    monkeypatch.setattr(runner, "_start", start)
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    assert told == [[], [request.step_id for request in bundle.requests[:4]]]


@pytest.mark.parametrize("error", [OperationalError("gone"), SoftTimeLimitExceeded()])
def test_where_the_rest_cannot_be_begun_the_first_are_told_all_the_same(
    error: Exception, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle,) = bundles(wire, 16)
    real = runner._start

    def start(agent: Any, requests: Any, bundle: Any) -> Any:
        if len(requests) != 4:
            raise error
        return real(agent, requests, bundle)

    monkeypatch.setattr(runner, "_start", start)

    with suppress(OperationalError):
        runner.perform(bundle)

    assert (messages(wire), started()) == ([4], 4)


def test_the_first_do_not_wait_for_a_rest_that_is_slow(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "QUICK_SECONDS", 0.3)
    until = threading.Event()

    def run(call: Call) -> dict[str, Any]:
        if int(call.subject.removeprefix("Toy ")) >= 4:
            assert until.wait(10)
        return {}

    def send(replies: Any) -> None:
        sent.append(len(replies))
        until.set()

    sent: list[int] = []
    toy.script["toy.alpha"] = run
    monkeypatch.setattr(dispatch, "send_replies", send)
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    assert (sent[0], sum(sent)) == (4, 16)


def test_behind_slow_calls_the_rest_is_passed_on_and_not_begun(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "QUICK_SECONDS", 0.02)
    toy.script["toy.alpha"] = toy.sleeper(0.2)
    (bundle,) = bundles(wire, 14)

    assert runner.perform(bundle) == 4

    assert (len(replies_on(wire)), started(), sizes(wire)) == (4, 4, [4, 4, 2])
    passed = [Bundle.from_wire(sent.body[0]) for sent in wire.of(dispatch.RUN_BUNDLE)]
    assert tuple(one for part in passed for one in part.requests) == bundle.requests[4:]
    assert {(part.agent, part.timeout_seconds) for part in passed} == {("toy.alpha", 30)}


def test_behind_a_fault_the_rest_is_passed_on(wire: Wire) -> None:
    def fail_once(call: Call) -> dict[str, Any]:
        if call.subject == "Toy 2":
            raise Transient("x", "no")
        return {}

    toy.script["toy.alpha"] = fail_once
    (bundle,) = bundles(wire, 8)

    assert runner.perform(bundle) == 4

    assert (len(replies_on(wire)), started(), sizes(wire)) == (4, 4, [4])


def test_a_rest_that_the_broker_refuses_stays_claimed_and_not_begun(wire: Wire) -> None:
    def cut(call: Call) -> dict[str, Any]:
        wire.is_down = True
        raise Transient("x", "no")

    toy.script["toy.alpha"] = cut
    (bundle,) = bundles(wire, 8)

    runner.perform(bundle)

    assert started() == 4
    assert Step.objects.filter(name="one", state="processing").count() == 8


def test_no_more_go_side_by_side_than_the_limit_while_the_first_are_quick(wire: Wire) -> None:
    width, busy, lock = 0, 0, threading.Lock()

    def run(call: Call) -> dict[str, Any]:
        nonlocal width, busy
        with lock:
            busy += 1
            width = max(width, busy)
        time.sleep(0.01)
        with lock:
            busy -= 1
        return {}

    toy.script["toy.alpha"] = run
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    assert width == 4


def test_calls_that_are_slow_all_of_a_sudden_do_not_wait_for_a_thread(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "QUICK_SECONDS", 0.3)
    all_at_once = threading.Barrier(12, timeout=10)

    def run(call: Call) -> dict[str, Any]:
        if int(call.subject.removeprefix("Toy ")) >= 4:
            all_at_once.wait()
        return {}

    toy.script["toy.alpha"] = run
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    assert [reply for reply in replies_on(wire) if "fault" in reply] == []
    assert len(replies_on(wire)) == 16


def test_claims_that_do_not_hold_any_more_are_left_out_of_both_parts(wire: Wire) -> None:
    (bundle,) = bundles(wire, 16)
    gone = [bundle.requests[place].step_id for place in (1, 2, 15)]
    Step.objects.filter(pk__in=gone).update(claim_id="0" * 32)

    assert runner.perform(bundle) == 13

    assert {reply["step_id"] for reply in replies_on(wire)}.isdisjoint(gone)


def test_where_nothing_of_the_first_part_was_called_nothing_is_proved(wire: Wire) -> None:
    """As when the message comes a second time, and another delivery works on the first part."""
    (bundle,) = bundles(wire, 8)
    gone = [request.step_id for request in bundle.requests[:4]]
    Step.objects.filter(pk__in=gone).update(claim_id="0" * 32)

    assert runner.perform(bundle) == 0

    assert (started(), sizes(wire)) == (0, [4])


def test_what_has_little_time_left_is_not_begun(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bundle,) = bundles(wire, 8)
    real = claim_steps.start

    def hang(*args: Any, **options: Any) -> set[int]:
        # As a start does that waits for a lock, on the worker's clock.
        monkeypatch.setattr(Deadline, "remaining", lambda deadline: 14.0)
        return real(*args, **options)

    monkeypatch.setattr(claim_steps, "start", hang)

    assert runner.perform(bundle) == 4

    assert (started(), sizes(wire)) == (4, [4])


def test_messages_do_not_grow_with_their_payloads(wire: Wire) -> None:
    half = "x" * 250_000

    found = bundles(wire, 8, {"note": half})

    assert [len(bundle.requests) for bundle in found] == [4, 4]
    assert all(len(bundle.requests[0].payload["note"]) == len(half) for bundle in found)


def test_replies_do_not_grow_with_their_results(wire: Wire) -> None:
    toy.script["toy.alpha"] = lambda call: {"note": "x" * 250_000}
    (bundle,) = bundles(wire, 16)

    assert runner.perform(bundle) == 16

    # They would be one message.
    assert max(messages(wire)) == 4
    assert len(replies_on(wire)) == 16


@pytest.mark.parametrize(
    ("given", "together"),
    [
        ([], []),
        ([5], [1]),
        ([MESSAGE_BYTES * 3], [1]),
        ([MESSAGE_BYTES, 0, 1], [2, 1]),
        ([1, MESSAGE_BYTES * 2, 1], [1, 1, 1]),
    ],
)
def test_what_goes_into_one_message(given: list[int], together: list[int]) -> None:
    assert [len(given[part]) for part in parcels(given)] == together
