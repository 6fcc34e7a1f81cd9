"""Workers that come and go, and processes that take: whatever dies meanwhile."""

from unittest.mock import patch

from kombu import Connection

from tests.crashes.scenario import Scenario, assert_ended, submit_once
from workers import scheduler
from workers.store import live_workers
from workers.store.claims import claim_steps, release
from workers.store.claims.claim_steps import Room
from workers.testing import Aftermath, Clock, Wire, agent_processes
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
    claim_steps.claim_due({"toy.alpha"}, here)
    release.unbegun(here.delivery, set(), "agent@test")
    wire.run_until_settled(clock)


def _give_back(wire: Wire, clock: Clock) -> None:
    """Start a claim that this process cannot call."""
    claims = claim_steps.claim_due({"toy.alpha"}, Room("agent@test", lambda agent: 1))
    release.uncalled(claims, "agent@test", "not known here")
    wire.run_until_settled(clock)


def _take_wake_ups(wire: Wire, clock: Clock) -> None:
    """Take wake-ups that wait in the agents' queue, behind a message of somebody else."""
    scheduler.advance()
    with Connection("memory://") as broker:
        channel = broker.channel()
        queue = broker.SimpleQueue("sas.agents", channel=channel)
        queue.put([[], {}, {}], serializer="json", headers={"task": "test.other"})
        for message in wire.of(dispatch.TAKE):
            wire.messages.remove(message)
            # The broker keeps it until it is acknowledged.
            wire.unacknowledged.append(message)
            headers = {"task": dispatch.TAKE}
            queue.put([message.body, {}, {}], serializer="json", headers=headers)
        with patch.object(queue_drain._channel, "get", return_value=channel):
            is_taken = queue_drain.take_one("sas.agents", {dispatch.TAKE})
        wire.unacknowledged.clear()
        if is_taken:
            agent_processes.take(wire, "sas.agents")
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
        "not known here",
        submit_once("toy_line"),
        _both_steps_done,
        run=_give_back,
        brief=("release.uncalled",),
    ),
    Scenario(
        "taken from the queue",
        submit_once("toy_line"),
        _both_steps_done,
        run=_take_wake_ups,
        brief=("queue_drain.take_one", "claim_steps.claim_due"),
    ),
]
