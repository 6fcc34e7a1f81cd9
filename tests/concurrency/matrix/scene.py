"""One order in a scene: what whoever calls a verb has read of it before, and how it got there.

A scene leaves what a caller of any verb needs to know, so that every verb can be called in
every scene: where it has nothing to do there, it must do nothing.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from msgspec import structs

from workers.definitions.children import Children
from workers.definitions.registry import register_workflow
from workers.definitions.workflow import OnFailure, Undo, Workflow, step
from workers.desk.models import Incident, Route, SavedView
from workers.desk.store import deliveries
from workers.models import Alert, Sink, Step
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import Reply
from workers.store import sinks
from workers.store.claims import claim_steps
from workers.store.claims.claim_steps import Room
from workers.store.db import dialect
from workers.testing.agent_processes import room as anywhere

#: The instant at which all verbs act.
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AGENTS = {"toy.alpha", "toy.beta", "toy.delta", "toy.quiet", "toy.undoer"}
FAULT = FaultRecord("transient", "http_500", "oops")
DEFERRAL = {"seconds": 60.0, "question": "?", "permission": "", "escalate_seconds": 40.0}
OPERATOR = {"actor": "operator:ann", "reason": "because"}

register_workflow(
    Workflow(
        "race",
        1,
        (
            step("top", "toy.alpha", undo=Undo("undo_top", "toy.undoer")),
            step("left", "toy.beta", after="top", undo=Undo("undo_left", "toy.undoer")),
            step("right", "toy.alpha", after="top", failure_threshold=1),
            step("bottom", "toy.delta", after=("left", "right"), on_failure=OnFailure.COMPENSATE),
        ),
        deadline_seconds=3600,
        editable=("gift",),
        personal=("gift",),
        told_as="toy",
    )
)
register_workflow(Workflow("race_file", 1, (step("only", "toy.alpha"),)))
register_workflow(
    Workflow(
        "race_list",
        1,
        (step("files", children=Children("race_file", lambda given, results: [{}, {}])),),
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
    group_id: int = 0
    delivery: deliveries.ClaimedDelivery | None = None

    def look(self) -> None:
        """Read what callers know; from then on nothing is read any more."""
        self.steps = {step.name: step for step in Step.objects.filter(process=self.process_id)}
        self.user_id = ann().pk
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


@contextmanager
def at(seconds: float) -> Iterator[None]:
    """Have a block happen so many seconds before the verbs do."""
    before, dialect.frozen_at = dialect.frozen_at, NOW - timedelta(seconds=seconds)
    try:
        yield
    finally:
        dialect.frozen_at = before


def ann() -> User:
    return User.objects.get_or_create(username="ann")[0]


def here() -> Room:
    """Return the room of a process of the worker that the verbs are about."""
    return replace(anywhere(), worker="agent@run-1")


def note(scene: Scene, found: list[claim_steps.Claim]) -> None:
    scene.taken |= {claim.step: claim for claim in found}


#: Brings an order there.
Setting = Callable[[], Scene]
