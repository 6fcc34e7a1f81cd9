"""Orders of one message go on in the worker that has just called for them, where they are few."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.test import override_settings

from tests.integration.conftest import only
from tests.integration.test_runtime import bundle_of, replies_on, submitted
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import next_step
from workers.client.submission import submit
from workers.definitions.agent import Call
from workers.definitions.effects import Effect
from workers.exceptions import Transient
from workers.models import Step
from workers.protocol.messages import Bundle
from workers.testing import Wire, pass_time
from workers.wire import dispatch

pytestmark = pytest.mark.django_db


def test_an_order_that_is_alone_takes_one_request(wire: Wire) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    assert bundle.settles_here
    wire.drop_all()

    next_step.run(bundle)

    process.refresh_from_db()
    assert process.state == "processed"
    assert wire.of(dispatch.RUN_BUNDLE) == []
    assert replies_on(wire) == []


def test_orders_of_one_moment_take_one_request(wire: Wire) -> None:
    processes = [submit("toy_line", subject=f"Toy {number}", input={}) for number in range(3)]
    scheduler.advance()
    (message,) = wire.of(dispatch.RUN_BUNDLE)
    wire.drop_all()

    next_step.run(Bundle.from_wire(message.body[0]))

    assert {wire.states(one)["two"] for one in processes} == {"processed"}
    assert wire.of(dispatch.RUN_BUNDLE) == replies_on(wire) == []


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_where_more_is_under_way_than_goes_side_by_side_replies_travel(wire: Wire) -> None:
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={})
    scheduler.advance()
    sent = [Bundle.from_wire(message.body[0]) for message in wire.of(dispatch.RUN_BUNDLE)]
    wire.drop_all()

    for bundle in sent:
        next_step.run(bundle)

    assert [(len(bundle.requests), bundle.settles_here) for bundle in sent] == [
        (2, False),
        (1, False),
    ]
    assert len(replies_on(wire)) == 3
    assert wire.of(dispatch.RUN_BUNDLE) == []


@override_settings(SAS_BUNDLE_LIMIT=2)
def test_of_claims_that_are_sent_again_replies_travel(wire: Wire) -> None:
    for number in range(3):
        submit("toy_line", subject=f"Toy {number}", input={})
    scheduler.advance()
    wire.drop_all()
    pass_time(20)

    scheduler.advance()

    # Nobody has counted what their agent has under way.
    sent = [Bundle.from_wire(message.body[0]) for message in wire.of(dispatch.RUN_BUNDLE)]
    assert [(len(bundle.requests), bundle.settles_here) for bundle in sent] == [
        (2, False),
        (1, False),
    ]


@pytest.mark.parametrize(
    ("name", "value"), [("queue", "sas.agents.slow"), ("is_serial", True), ("is_local", True)]
)
def test_a_step_of_another_queue_or_in_the_main_thread_is_sent(
    name: str, value: object, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    monkeypatch.setattr(toy.Beta, name, value)

    next_step.run(bundle)

    assert bundle_of(wire).requests[0].step == "two"
    assert only(process, "one").state == "processed"


def test_a_step_of_another_timeout_is_sent(wire: Wire) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    Step.objects.filter(process=process, name="two").update(timeout_seconds=7)

    next_step.run(bundle)

    # Its soft limit would be the first one's.
    assert bundle_of(wire).timeout_seconds == 7
    assert only(process, "one").state == "processed"


def test_nothing_begins_whose_soft_limit_would_come_too_early(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted()
    bundle = bundle_of(wire)
    monkeypatch.setattr(next_step, "monotonic", iter([0.0, 1.1]).__next__)

    next_step.run(bundle)

    assert bundle_of(wire).requests[0].step == "two"


def test_a_fault_is_settled_here_and_tried_again_by_message(wire: Wire) -> None:
    def fail(call: Call) -> dict[str, Any]:
        raise Transient("busy", "not now")

    toy.script["toy.alpha"] = fail
    process = submitted()

    next_step.run(bundle_of(wire))

    step = only(process, "one")
    assert (step.state, step.failure_count) == ("pending", 1)
    assert replies_on(wire) == []


@pytest.mark.parametrize("error", [OperationalError("away"), ValueError("a fault of ours")])
def test_replies_that_cannot_be_settled_here_are_sent(
    error: Exception, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(scheduler, "settle", fail)
        next_step.run(bundle)

    assert len(replies_on(wire)) == 1
    wire.run_until_idle()
    process.refresh_from_db()
    assert process.state == "processed"


def test_what_cannot_be_started_here_is_sent_and_the_message_does_not_come_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    real: Callable[..., Any] = next_step.runner.perform

    def perform(one: Bundle, *rest: Any) -> int:
        if one is not bundle:
            raise OperationalError("away")
        return real(one, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(next_step.runner, "perform", perform)
        next_step.run(bundle)

    assert bundle_of(wire).requests[0].step == "two"
    assert only(process, "one").state == "processed"


def test_what_a_dead_process_had_kept_is_sent_again(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = submitted()
    bundle = bundle_of(wire)
    monkeypatch.setattr(next_step._Following, "take", lambda self: None)
    next_step.run(bundle)
    wire.drop_all()
    step = only(process, "two")
    assert (step.state, step.started_at) == ("processing", None)

    pass_time(20)
    scheduler.advance()

    step.refresh_from_db()
    assert (step.lost_count, step.failure_count) == (1, 0)
    assert bundle_of(wire).requests[0].step == "two"


def test_an_unsafe_agent_files_its_reply_and_nothing_goes_on(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(toy.Alpha, "effect", Effect.UNSAFE)
    process = submitted()

    next_step.run(bundle_of(wire))

    assert only(process, "one").reply is not None
    assert only(process, "one").state == "processing"
