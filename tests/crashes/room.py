"""Workers that come and go, and processes that take: whatever dies meanwhile."""

from unittest.mock import patch

from kombu import Connection

from tests.crashes.scenario import Scenario, assert_ended, submit_once
from workers import tasks
from workers.store import live_workers
from workers.store.claims import claim_steps, release
from workers.store.claims.claim_steps import Room
from workers.testing import Aftermath, Clock, Wire
from workers.wire import dispatch, queue_drain


def _both_steps_done(after: Aftermath) -> None:
    assert_ended(after, "processed", {"one": 1, "two": 1}, one="processed", two="processed")
    after.assert_same_journal(may_lack={"expired", "claimed", "handed_back"})


def _come_and_go(wire: Wire, clock: Clock) -> None:
    live_workers.report("one", "celery-one@host", ["sas.agents"], 2)
    live_workers.leave("one")
    wire.run_until_settled(clock)


def _lose_an_answer(wire: Wire, clock: Clock) -> None:
    """Start a claim by a write whose answer is lost, and give it back."""
    here = Room("agent@test", lambda agent: 1)
    claim_steps.claim_due({"toy.alpha"}, "scheduler", own_room=here)
    release.unbegun(here.delivery, set(), "agent@test")
    wire.run_until_settled(clock)


def _take_from_the_queue(wire: Wire, clock: Clock) -> None:
    """Take a bundle that waits in the agents' queue, behind a message of somebody else."""
    wire.deliver_all(dispatch.ADVANCE)
    with Connection("memory://") as broker:
        channel = broker.channel()
        queue = broker.SimpleQueue("sas.agents", channel=channel)
        queue.put([[], {}, {}], serializer="json", headers={"task": "test.other"})
        for message in wire.of(dispatch.RUN_BUNDLE):
            wire.messages.remove(message)
            wire.unacknowledged.append(message)
            headers = {"task": dispatch.RUN_BUNDLE}
            queue.put([message.body, {}, {}], serializer="json", headers=headers)

        def accept(body: list[object]) -> bool:
            tasks.run_bundle_now(*body)
            return True

        with patch.object(queue_drain._channel, "get", return_value=channel):
            queue_drain.take_one("sas.agents", {dispatch.RUN_BUNDLE: accept})
        wire.unacknowledged.clear()
        queue.clear()
    wire.run_until_settled(clock)


SCENARIOS = [
    Scenario(
        "a worker comes and goes",
        submit_once("toy_line"),
        _both_steps_done,
        run=_come_and_go,
        brief=("live_workers.report", "live_workers.leave"),
    ),
    Scenario(
        "an answer is lost",
        submit_once("toy_line"),
        _both_steps_done,
        run=_lose_an_answer,
        brief=("release.unbegun", "claim_steps.claim_due"),
    ),
    Scenario(
        "taken from the queue",
        submit_once("toy_line"),
        _both_steps_done,
        run=_take_from_the_queue,
        brief=("queue_drain.take_one",),
    ),
]
