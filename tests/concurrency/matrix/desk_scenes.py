"""Scenes of what operators deal with: alerts, incidents, routes, jobs, views, leases, figures."""

from datetime import datetime, timedelta

from tests.concurrency.matrix.order_scenes import at_work, in_error, submitted
from tests.concurrency.matrix.scene import NOW, OPERATOR, Scene, ann, at, here
from workers import Schedule
from workers.client import operations
from workers.client.submission import submit
from workers.desk.models import Incident, Route
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.desk.store import (
    alert_commands,
    deliveries,
    delivery_plans,
    gauges,
    incidents,
    jobs,
    minutes,
    probe_results,
    saved_views,
)
from workers.desk.store.probe_results import ProbeOutcome
from workers.models import Alert, ChildGroup, Installation, Process
from workers.protocol.messages import Reply
from workers.rules.approved_acts import Act
from workers.store import alert_resolution, leases, old_processes, old_rows, schedules, sinks
from workers.store.alerts import raise_alert
from workers.store.child_groups.begin import begin as begin_groups
from workers.store.child_groups.expand import expand
from workers.store.claims import claim_steps
from workers.store.db import dialect
from workers.store.flow import flow_settings, holds
from workers.store.operate import lost_commits, undo_requests
from workers.store.settle import settle_replies

HOURLY = Schedule("hourly", "race_file", cron="0 * * * *")
YEARS = 3 * 366 * 86_400.0
FOUND_BAD = ProbeOutcome(
    "toys.bad", "error", [{"level": "error", "what": "bad", "why": "", "remedy": ""}]
)


def held() -> Scene:
    scene = submitted()
    with at(50):
        holds.hold("agent", "toy.alpha", **OPERATOR)
    return scene


def failed_over() -> Scene:
    """A standby was promoted since somebody last looked."""
    scene = submitted()
    with at(50):
        lost_commits.look()
        Installation.objects.update(timeline=7)
    return scene


def rated() -> Scene:
    scene = submitted()
    with at(50):
        flow_settings.set_flow("toy.alpha", {"rate_per_second": 1}, **OPERATOR)
    return scene


def with_a_list() -> Scene:
    """Beside the order a step is to have its children."""
    scene = submitted()
    with at(50):
        submit("race_list", subject="List", input={})
    return scene


def listed() -> Scene:
    """Its children have rows, and none is born."""
    scene = with_a_list()
    with at(40):
        begin_groups(10, "scheduler")
        scene.group_id = ChildGroup.objects.get().pk
        expand(scene.group_id, [{}, {}])
    return scene


def to_expand() -> Scene:
    """It has a group, and its children have no rows."""
    scene = with_a_list()
    with at(40):
        begin_groups(10, "scheduler")
        scene.group_id = ChildGroup.objects.get().pk
    return scene


def blocked() -> Scene:
    """Two calls of a customer are blocked, and the next one's order is paused."""
    scene = submitted()
    with at(50):
        rows = [
            submit("toy_keyed", subject=f"Keyed {n}", input={}, attributes={"customer": 7})
            for n in range(3)
        ]
        (claim,) = claim_steps.claim_due({"toy.keyed"}, here())
        operations.pause(rows[1].pk, **OPERATOR)
        settle_replies.apply([Reply(claim.step_id, claim.claim_id, claim.attempt, {})], "agent")
    return scene


def scheduled() -> Scene:
    scene = submitted()
    with at(50):
        schedules.write(HOURLY, {})
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
        scene.undo_request_id = undo_requests.ask(scene.process_id, Act("cancel"), **OPERATOR)
    return scene


def _job(process_id: int) -> int:
    sequence = Process.objects.get(pk=process_id).sequence
    return jobs.create(
        "resubmit", {process_id: sequence}, source={}, params={"nothing_happened": True}, **OPERATOR
    )


def resubmitted() -> Scene:
    """A branch that had failed for good is to be tried again; its alert is open still."""
    scene = in_error()
    with at(2):
        operations.resubmit(scene.process_id, nothing_happened=True, **OPERATOR)
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
        operations.resubmit(scene.process_id, nothing_happened=True, **OPERATOR)
        alert_resolution.resolve_ended()
    return scene


def kept() -> Scene:
    """Somebody has saved a view."""
    scene = in_error()
    saved_views.save(ann().pk, "workers.process", "Errors", "state=error")
    return scene


def routed() -> Scene:
    """There is a route, and an incident that it is to be told of."""
    scene = gathered()
    Route.objects.create(name="ops", kind="mail", address="ops@example.org", time_zone="UTC")
    # No other process has failed since.
    Incident.objects.update(last_at=NOW - timedelta(minutes=1))
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


def erring() -> Scene:
    """A probe has found an error once, and is told of when it does again."""
    scene = submitted()
    with at(5):
        probe_results.keep([FOUND_BAD])
    return scene


def rolled_up() -> Scene:
    """The minute before has figures, which longer spans have not."""
    scene = at_work()
    minutes.roll_up(begin(NOW, Span.MINUTE) - timedelta(minutes=1))
    return scene


def leased() -> Scene:
    scene = submitted()
    with at(5):
        leases.acquire(leases.SWEEP, "one", 15)
    return scene


def long_over() -> Scene:
    """Everything about the order can go: it is cancelled, and whoever is told knows it."""
    with at(YEARS):
        scene = submitted()
        holds.hold("agent", "toy.beta", **OPERATOR)
        holds.lift("agent", "toy.beta", **OPERATOR)
        raise_alert("old", "long dealt with")
        alert_commands.acknowledge(Alert.objects.get().pk, ann().pk, actor="operator:ann")
        _resolved_incident(dialect.read_clock())
        gauges.take()
        jobs.steer(_job(scene.process_id), "stop", actor="operator:ann")
        undo_requests.ask(scene.process_id, Act("cancel"), **OPERATOR)
        operations.undo(scene.process_id, outcome="cancelled", **OPERATOR)
        (sink,) = sinks.claim("queue", 1, 60)
        sinks.told([sinks.SinkProgress(sink, sink.last, is_final=True)])
        gone = submit("race", subject="Order 0", input={}).pk
    # By hand, as none of ours would: its journal stays.
    dialect.execute("DELETE FROM workers_step WHERE process_id = %s", [gone])
    dialect.execute("DELETE FROM workers_process WHERE id = %s", [gone])
    return scene


def pruned() -> Scene:
    """The order itself can go: its journal has, and what two persons decided about it."""
    scene = long_over()
    list(old_processes.JOURNALS.prune(10))
    list(old_rows.UNDO_REQUESTS.prune(10))
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
