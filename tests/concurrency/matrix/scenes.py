"""States in which a verb has something to do: one order, brought there by the verbs before.

A scene leaves what a caller of any verb needs to know, so that every verb can be called in
every scene: where it has nothing to do there, it must do nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from msgspec import structs

from workers.client.submission import submit
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import OnFailure, Undo, Workflow, step
from workers.models import Alert, Incident, LiveStep, Process, Route, SavedView, Sink, Step
from workers.protocol.messages import Reply
from workers.rules.minutes import begin
from workers.rules.rows import NewSink
from workers.states import Span
from workers.store import (
    alert_resolution,
    deliveries,
    delivery_plans,
    gauges,
    incidents,
    leases,
    minutes,
    probe_results,
    saved_views,
    sinks,
)
from workers.store.alerts import raise_alert
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.flow import flow_settings, holds
from workers.store.operate import alert_commands, jobs, undo_requests
from workers.store.operate import commands as steer
from workers.store.probe_results import Looked
from workers.store.settle import filed_replies, settle_replies

#: The instant at which all verbs act.
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
YEARS = 3 * 366 * 86_400.0
AGENTS = {"toy.alpha", "toy.beta", "toy.delta", "toy.quiet", "toy.undoer"}
FAULT = {"kind": "transient", "code": "http_500", "message": "oops"}
DEFERRAL = {"seconds": 60.0, "question": "?", "permission": "", "escalate_seconds": 40.0}
FOUND_BAD = Looked(
    "toys.bad", "error", [{"level": "error", "what": "bad", "why": "", "remedy": ""}]
)
OPERATOR = {"actor": "operator:ann", "reason": "because"}

register_workflow(
    Workflow(
        "race",
        1,
        (
            step("top", "toy.alpha", undo=Undo("undo_top", "toy.undoer")),
            step("left", "toy.beta", after="top", undo=Undo("undo_left", "toy.undoer")),
            step("right", "toy.alpha", after="top", failure_threshold=1),
            step(
                "bottom",
                "toy.delta",
                after=("left", "right"),
                on_failure=OnFailure.COMPENSATE,
            ),
        ),
        deadline_seconds=3600,
        editable=("gift",),
        told_as="toy",
    )
)


@dataclass
class Scene:
    """One order, and what whoever calls a verb has read of it before."""

    process_id: int
    #: The step that verbs are about.
    step: str = "top"
    taken: dict[str, claim_steps.Claim] = field(default_factory=dict)
    sink: sinks.ClaimedSink | None = None
    steps: dict[str, Step] = field(default_factory=dict)
    user_id: int = 0
    alert_id: int = 0
    sink_id: int = 0
    job_id: int = 0
    undo_request_id: int = 0
    incident_id: int = 0
    route_id: int = 0
    view_id: int = 0
    delivery: deliveries.ClaimedDelivery | None = None

    def look(self) -> None:
        """Read what callers know; from then on nothing is read any more."""
        self.steps = {step.name: step for step in Step.objects.filter(process=self.process_id)}
        self.user_id = _ann().pk
        self.alert_id = Alert.objects.values_list("pk", flat=True).first() or 0
        self.incident_id = Incident.objects.values_list("pk", flat=True).first() or 0
        self.route_id = Route.objects.values_list("pk", flat=True).first() or 0
        self.view_id = SavedView.objects.values_list("pk", flat=True).first() or 0
        self.sink_id = Sink.objects.get(process=self.process_id).pk

    @property
    def key(self) -> str:
        return self.steps[self.step].idempotency_key

    def claim(self, name: str = "") -> claim_steps.Claim:
        """Return the claim of a step; one that never was, where it has none."""
        name = name or self.step
        if name in self.taken:
            return self.taken[name]
        row = self.steps[name]
        return claim_steps.Claim(
            row.pk, self.process_id, uuid4(), 9, name, row.agent, 30, row.idempotency_key
        )

    def reply(self, name: str = "", **kind: Any) -> Reply:
        """Return a reply to the claim of a step; to one that never was, where nobody began.

        An agent says one thing: where its result is filed, any other comes from nobody.
        """
        claim = self.claim(name)
        row = self.steps.get(claim.step)
        if row is not None and (row.started_at is None or (row.reply is not None and kind)):
            claim = structs.replace(claim, claim_id=uuid4())
        return Reply(claim.step_id, claim.claim_id, claim.attempt, **(kind or {"result": {"n": 1}}))


def _ann() -> User:
    return User.objects.get_or_create(username="ann")[0]


@contextmanager
def at(seconds: float) -> Iterator[None]:
    """Have a block happen so many seconds before the verbs do."""
    before, dialect.frozen_at = dialect.frozen_at, NOW - timedelta(seconds=seconds)
    try:
        yield
    finally:
        dialect.frozen_at = before


def submitted() -> Scene:
    with at(100) if dialect.frozen_at == NOW else nullcontext():
        process = submit(
            "race",
            subject="Order 1",
            input={"gift": False},
            sinks=[NewSink("queue", "replies.acme.one", "acme")],
        )
    return Scene(process.pk)


def long_over() -> Scene:
    """Everything about the order can go: it is cancelled, and whoever is told knows it."""
    with at(YEARS):
        scene = submitted()
        holds.hold("agent", "toy.beta", **OPERATOR)
        holds.lift("agent", "toy.beta", **OPERATOR)
        raise_alert("old", "long dealt with")
        alert_commands.acknowledge(Alert.objects.get().pk, _ann().pk, actor="operator:ann")
        _resolved_incident(dialect.read_clock())
        gauges.take()
        jobs.steer(_job(scene.process_id), "stop", actor="operator:ann")
        undo_requests.ask(scene.process_id, "cancel", **OPERATOR)
        steer.undo(scene.process_id, outcome="cancelled", **OPERATOR)
        (sink,) = sinks.claim("queue", 1, 60)
        sinks.told([sinks.Told(sink, sink.last, is_final=True)])
        gone = submit("race", subject="Order 0", input={}).pk
    # By hand, as none of ours would: its journal stays.
    dialect.execute("DELETE FROM workers_step WHERE process_id = %s", [gone])
    dialect.execute("DELETE FROM workers_process WHERE id = %s", [gone])
    return scene


def _resolved_incident(at: datetime) -> None:
    Incident.objects.create(
        key="old",
        code="old",
        severity=1,
        state="resolved",
        opened_at=at,
        last_at=at,
        resolved_at=at,
    )


def rated() -> Scene:
    scene = submitted()
    with at(50):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, **OPERATOR)
    return scene


def held() -> Scene:
    scene = submitted()
    with at(50):
        holds.hold("agent", "toy.alpha", **OPERATOR)
    return scene


def leased() -> Scene:
    scene = submitted()
    with at(5):
        leases.acquire(leases.SWEEP, "one", 15)
    return scene


def told() -> Scene:
    """A relay is about to tell the submitter."""
    scene = submitted()
    with at(5):
        (scene.sink,) = sinks.claim("queue", 1, 60)
    return scene


def claimed(seconds: float = 5) -> Scene:
    scene = submitted()
    with at(seconds):
        _note(scene, claim_steps.claim_due(AGENTS, "scheduler"))
    return scene


def lost() -> Scene:
    return claimed(60)


def at_work(seconds: float = 5) -> Scene:
    """Two branches are under way."""
    scene = claimed(90)
    with at(80):
        _start(scene, "top")
    with at(seconds):
        _note(scene, settle_replies.settle([scene.reply("top")], "scheduler").claims)
        _start(scene, "left", "right")
    scene.step = "left"
    return scene


def expired() -> Scene:
    return at_work(60)


def tired() -> Scene:
    """Nothing is tried again."""
    scene = expired()
    Step.objects.update(failure_threshold=1)
    return scene


def going_on() -> Scene:
    """A call takes longer than its claim had to be started."""
    return at_work(20)


def not_found() -> Scene:
    """Nobody would find what can be claimed."""
    scene = submitted()
    LiveStep.objects.all().delete()
    return scene


def found_wrong() -> Scene:
    """Steps at work are looked for as if they were in error."""
    scene = at_work()
    LiveStep.objects.update(state="error", look_at=None)
    return scene


def filed() -> Scene:
    scene = at_work()
    with at(3):
        filed_replies.file(scene.reply(), "agent")
    return scene


def deferred(seconds: float = 3) -> Scene:
    scene = at_work(seconds + 2)
    with at(seconds):
        settle_replies.settle([scene.reply(deferral=DEFERRAL)], "scheduler")
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
        settle_replies.settle([scene.reply(fault=FAULT | {"retry_after": 600})], "scheduler")
    del scene.taken["left"]
    return scene


def in_error() -> Scene:
    """One branch has failed for good, the other is at work."""
    scene = at_work()
    with at(3):
        settle_replies.settle([scene.reply("right", fault=FAULT)], "scheduler")
    scene.step = "right"
    return scene


def in_a_job() -> Scene:
    """One branch has failed for good, and a job is to resubmit it."""
    scene = in_error()
    with at(2):
        scene.job_id = _job(scene.process_id)
    return scene


def asked_to_undo() -> Scene:
    """One branch has failed for good, and somebody asks to undo what was done."""
    scene = in_error()
    with at(2):
        scene.undo_request_id = undo_requests.ask(scene.process_id, "cancel", **OPERATOR)
    return scene


def _job(process_id: int) -> int:
    sequence = Process.objects.get(pk=process_id).sequence
    return jobs.create(
        "resubmit",
        {process_id: sequence},
        source={},
        params={"nothing_happened": True},
        **OPERATOR,
    )


def resubmitted() -> Scene:
    """A branch that had failed for good is to be tried again; its alert is open still."""
    scene = in_error()
    with at(2):
        steer.resubmit(scene.process_id, nothing_happened=True, **OPERATOR)
    return scene


def gathered() -> Scene:
    """The alert of a branch that has failed for good belongs to an incident."""
    scene = in_error()
    with at(2):
        incidents.collect()
    return scene


def healed() -> Scene:
    """The incident of a branch that is tried again has no member any more."""
    scene = gathered()
    with at(2):
        steer.resubmit(scene.process_id, nothing_happened=True, **OPERATOR)
        alert_resolution.resolve_ended()
    return scene


def rolled_up() -> Scene:
    """The minute before has figures, which longer spans have not."""
    scene = at_work()
    minutes.roll_up(begin(NOW, Span.MINUTE) - timedelta(minutes=1))
    return scene


def erring() -> Scene:
    """A probe has found an error once, and is told of when it does again."""
    scene = submitted()
    with at(5):
        probe_results.keep([FOUND_BAD])
    return scene


def routed() -> Scene:
    """There is a route, and an incident that it is to be told of."""
    scene = gathered()
    Route.objects.create(name="ops", kind="mail", address="ops@example.org", time_zone="UTC")
    return scene


def kept() -> Scene:
    """Somebody has saved a view."""
    scene = in_error()
    saved_views.save(_ann().pk, "workers.process", "Errors", "state=error")
    return scene


def noted() -> Scene:
    """It is noted that the route is to be told."""
    scene = routed()
    with at(1):
        delivery_plans.plan()
    return scene


def telling() -> Scene:
    """A relay is about to tell the route."""
    scene = noted()
    with at(1):
        (scene.delivery,) = deliveries.claim(10, 60)
    return scene


def given_up() -> Scene:
    """The route could not be told."""
    scene = telling()
    assert scene.delivery is not None
    with at(1):
        deliveries.give_up(scene.delivery, 500, "no")
    return scene


def left_to_decide() -> Scene:
    """A supervisor has left a policy to the Scheduler; the other branch is done."""
    scene = at_work(60)
    with at(50):
        settle_replies.settle([scene.reply("left")], "scheduler")
    with at(3):
        expire_claims.expire("supervisor")
    scene.step = "right"
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
        steer.pause(scene.process_id, **OPERATOR)
    return scene


def turned_round() -> Scene:
    """The order is being undone, and what was at work is yet to end."""
    scene = at_work()
    with at(3):
        steer.undo(scene.process_id, outcome="cancelled", **OPERATOR)
    return scene


def undoing() -> Scene:
    """An undo step is at work."""
    scene = turned_round()
    with at(2):
        found = settle_replies.settle(
            [scene.reply("left"), scene.reply("right")], "scheduler"
        ).claims
        _note(scene, found)
        _start(scene, "undo_left")
    scene.step = "undo_left"
    return scene


def last() -> Scene:
    """The last step is at work."""
    scene = at_work()
    with at(3):
        found = settle_replies.settle(
            [scene.reply("left"), scene.reply("right")], "scheduler"
        ).claims
        _note(scene, found)
        _start(scene, "bottom")
    scene.step = "bottom"
    return scene


def _note(scene: Scene, found: list[claim_steps.Claim]) -> None:
    scene.taken |= {claim.step: claim for claim in found}


def _start(scene: Scene, *names: str) -> None:
    wanted: list[tuple[int, UUID]] = [
        (scene.taken[name].step_id, scene.taken[name].claim_id) for name in names
    ]
    started = claim_steps.start(wanted, timeout_seconds=30, worker="agent@run-1", delivery=uuid4())
    assert len(started) == len(names)


Setting = Callable[[], Scene]
