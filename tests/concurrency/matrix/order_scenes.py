"""Scenes of one order: states in which a verb has something to do, reached by verbs before it."""

from contextlib import nullcontext
from datetime import timedelta

from msgspec import structs

from tests.concurrency.matrix.scene import (
    AGENTS,
    DEFERRAL,
    FAULT,
    NOW,
    OPERATOR,
    Scene,
    at,
    here,
    note,
)
from workers.client import operations
from workers.client.submission import submit
from workers.models import Step
from workers.rules.rows import NewSink
from workers.store import sinks
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.settle import filed_replies, settle_replies


def submitted() -> Scene:
    with at(100) if dialect.frozen_at == NOW else nullcontext():
        process = submit(
            "race",
            subject="Order 1",
            input={"gift": False},
            sinks=[NewSink("queue", "replies.acme.one", "acme")],
        )
    return Scene(process.pk)


def told() -> Scene:
    """A relay is about to tell the submitter."""
    scene = submitted()
    with at(5):
        (scene.sink,) = sinks.claim("queue", 1, 60)
    return scene


def claimed(seconds: float = 5) -> Scene:
    scene = submitted()
    with at(seconds):
        note(scene, claim_steps.claim_due(AGENTS, here()))
    return scene


def at_work(seconds: float = 5) -> Scene:
    """Two branches are under way."""
    scene = claimed(80)
    with at(seconds):
        _settle(scene, "top")
    scene.step = "left"
    return scene


def _settle(scene: Scene, *names: str) -> None:
    """Settle results in the process that goes on with the next steps."""
    replies = [scene.reply(name) for name in names]
    note(scene, settle_replies.apply(replies, "scheduler", own_room=here()).claims)


def expired() -> Scene:
    return at_work(60)


def tired() -> Scene:
    """Nothing is tried again."""
    scene = expired()
    Step.objects.update(failure_threshold=1)
    return scene


def filed() -> Scene:
    scene = at_work()
    with at(3):
        filed_replies.file(scene.reply(), "agent")
    return scene


def deferred(seconds: float = 3) -> Scene:
    scene = at_work(seconds + 2)
    with at(seconds):
        settle_replies.apply([scene.reply(deferral=DEFERRAL)], "scheduler")
    return scene


def overdue() -> Scene:
    """A callback has not come for long."""
    return deferred(50)


def unanswered() -> Scene:
    """A callback has not come in time."""
    return deferred(70)


def parked() -> Scene:
    """The step is to be tried again, but not yet; the other branch is at work."""
    scene = at_work(4)
    with at(3):
        fault = structs.replace(FAULT, retry_after=600.0)
        settle_replies.apply([scene.reply(fault=fault)], "scheduler")
    del scene.taken["left"]
    return scene


def in_error() -> Scene:
    """One branch has failed for good, the other is at work."""
    scene = at_work()
    with at(3):
        settle_replies.apply([scene.reply("right", fault=FAULT)], "scheduler")
    scene.step = "right"
    return scene


def left_to_decide() -> Scene:
    """A supervisor has left a policy to the Scheduler; the other branch is done."""
    scene = at_work(60)
    with at(50):
        settle_replies.apply([scene.reply("left")], "scheduler")
    with at(3):
        expire_claims.expire("supervisor")
    scene.step = "right"
    return scene


def left_out() -> Scene:
    """An operator has skipped one branch; the other is at work."""
    scene = in_error()
    with at(2):
        operations.skip(scene.process_id, scene.step, **OPERATOR)
    return scene


def ended_without() -> Scene:
    """The order is processed, and its last step was skipped."""
    scene = last()
    with at(2):
        settle_replies.apply([scene.reply(fault=FAULT)], "scheduler")
        operations.skip(scene.process_id, scene.step, **OPERATOR)
    return scene


def past_deadline() -> Scene:
    scene = at_work()
    with at(3):
        dialect.execute(
            "UPDATE workers_process SET deadline_at = %s",
            [dialect.instant_text(NOW - timedelta(seconds=1))],
        )
    return scene


def paused() -> Scene:
    scene = at_work()
    with at(3):
        operations.pause(scene.process_id, **OPERATOR)
    return scene


def turned_round() -> Scene:
    """The order is being undone, and what was at work is yet to end."""
    scene = at_work()
    with at(3):
        operations.undo(scene.process_id, outcome="cancelled", **OPERATOR)
    return scene


def undoing() -> Scene:
    """An undo step is at work."""
    scene = turned_round()
    with at(2):
        _settle(scene, "left", "right")
    scene.step = "undo_left"
    return scene


def last() -> Scene:
    """The last step is at work."""
    scene = at_work()
    with at(3):
        _settle(scene, "left", "right")
    scene.step = "bottom"
    return scene
