"""How each verb of the state store is called in a scene, and the scenes in which it has work.

One list for all tests that go through every verb: those that have them meet, those that crash
them, and those that give them hostile texts.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import update_wrapper
from operator import attrgetter
from types import GeneratorType
from typing import Any
from uuid import uuid4

from tests.concurrency.matrix import desk_scenes as desk
from tests.concurrency.matrix import order_scenes as order
from tests.concurrency.matrix.scene import AGENTS, DEFERRAL, FAULT, NOW, OPERATOR, Scene, Setting
from workers.client import operations, submission
from workers.desk import retention as desk_rows
from workers.desk.models import Route
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.desk.store import (
    alert_commands,
    deliveries,
    delivery_plans,
    gauges,
    incident_commands,
    incidents,
    jobs,
    minutes,
    notes,
    preferences,
    probe_results,
    releases,
    routes,
    saved_views,
)
from workers.models import Step
from workers.privacy import erase, persons
from workers.protocol.faults import FaultRecord
from workers.rules.apply_reply import carry_out_policies
from workers.rules.approved_acts import Act
from workers.rules.rows import NewProcess
from workers.store import (
    alert_resolution,
    alerts,
    installation,
    isolation,
    journal,
    key_limits,
    key_places,
    leases,
    live_workers,
    old_processes,
    old_rows,
    schedules,
    sinks,
    worker_alerts,
)
from workers.store.child_groups import begin as child_begin
from workers.store.child_groups import carry_on as child_carry_on
from workers.store.child_groups import expand as child_expand
from workers.store.claims import claim_steps, release
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.flow import flow_control, flow_settings, holds, key_settings, open_breakers
from workers.store.operate import (
    after_restore,
    edit_input,
    lost_commits,
    record_answers,
    undo_requests,
)
from workers.store.settle import filed_replies, settle_replies
from workers.testing.agent_processes import room as anywhere

BY_ANN, BY_BOB = {"actor": "operator:ann"}, {**OPERATOR, "actor": "operator:bob"}


class Of:
    """An argument that depends on the scene."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read = read


@dataclass(frozen=True)
class Call:
    """A verb, by its name in the code, called on a scene."""

    verb: Callable[..., Any]
    settings: tuple[Setting, ...]
    given: tuple[Any, ...] = ()
    named: dict[str, Any] = field(default_factory=dict)
    #: Tells two calls of one verb apart.
    how: str = ""

    @property
    def place(self) -> str:
        return f"{self.verb.__module__.rpartition('.')[2]}.{self.verb.__name__}"

    @property
    def name(self) -> str:
        return f"{self.place}, {self.how}" if self.how else self.place

    def run(self, scene: Any, **changes: Any) -> Any:
        """Call the verb, with other named arguments where said."""
        given, named = (
            [one.read(scene) if isinstance(one, Of) else one for one in some]
            for some in (self.given, self.named.values())
        )
        result = self.verb(*given, **{**dict(zip(self.named, named, strict=True)), **changes})
        return list(result) if isinstance(result, GeneratorType) else result


def call(verb: Callable[..., Any], *given: Any, on: Any, how: str = "", **named: Any) -> Call:
    return Call(verb, on if isinstance(on, tuple) else (on,), given, named, how)


def steer(verb: Callable[..., Any], *given: Any, on: Any, **named: Any) -> Call:
    """Return an operator's call of a verb on the scene's process."""
    return call(verb, PROCESS, *given, on=on, **named, **OPERATOR)


def settle(*names: str, on: Any = order.at_work, how: str = "", **kind: Any) -> Call:
    """Return the call that settles replies of this kind: those of steps, or the scene's own."""
    replies = Of(lambda scene: [scene.reply(name, **kind) for name in (names or ("",))])
    return call(settle_replies.apply, replies, "agent", own_room=ROOM, on=on, how=how)


def _unbegun(delivery: Any, others: Any, actor: str) -> Any:
    return release.unbegun(delivery or uuid4(), set(others), actor)


def _prune(batch: int) -> Any:
    tables = (
        *(old_rows.FLOW_JOURNAL, old_rows.ALERTS, desk_rows.DELIVERIES, desk_rows.JOBS),
        *(old_rows.UNDO_REQUESTS, *desk_rows.FIGURES, desk_rows.INCIDENTS, old_rows.WEBHOOKS),
    )
    return [list(rows.prune(batch)) for rows in tables]


def _steer_schedule(name: str, *, actor: str, reason: str) -> None:
    with schedules.steered(name, "schedule_paused", actor=actor, reason=reason) as (row, at, _):
        row.paused_at = at


update_wrapper(_steer_schedule, schedules.steered)
update_wrapper(_unbegun, release.unbegun)
update_wrapper(_prune, old_rows.OldRows.prune)


def _fail(rows: Any) -> None:
    raise KeyError("agent")


def _carry_out(process: Any) -> Any:
    return carry_out_policies(process, "scheduler")


def _sink(scene: Scene) -> sinks.ClaimedSink:
    """Return the relay's claim of the sink; one that is over, where there is none."""
    if scene.sink is not None:
        return scene.sink
    until = NOW - timedelta(seconds=30)
    columns = (scene.sink_id, scene.process_id, "queue", "replies.acme.one", "acme", "", 0, 1, 0)
    return sinks.ClaimedSink(*columns, until=until)


def _delivery(scene: Scene) -> deliveries.ClaimedDelivery:
    """Return the relay's claim of a delivery; one that is over, where there is none."""
    if scene.delivery is not None:
        return scene.delivery
    until = NOW - timedelta(seconds=30)
    of_route = ("mail", "ops@example.org", "", "UTC", "")
    columns = (0, uuid4(), scene.route_id, None, "opened", until, 0, *of_route)
    return deliveries.ClaimedDelivery(*columns, until)


def _route(scene: Scene) -> Route:
    where = {"kind": "mail", "address": "night@example.org", "time_zone": "UTC"}
    return Route(pk=scene.route_id or None, name="ops", **where)


PROCESS, STEP, KEY, USER, INCIDENT, ALERT, ROUTE, VIEW_ID, JOB, SINK_ID, REQUEST = (
    Of(attrgetter(name))
    for name in (
        *("process_id", "step", "key", "user_id", "incident_id", "alert_id", "route_id"),
        *("view_id", "job_id", "sink_id", "undo_request_id"),
    )
)
WHERE = PROCESS, STEP
ALONE, CLAIMS = Of(lambda scene: [scene.process_id]), Of(lambda scene: [scene.claim()])
GROUP = Of(attrgetter("group_id"))
SUBJECT, SEEN = Of(lambda scene: str(scene.process_id)), Of(lambda scene: {scene.process_id: 0})
SINK, DELIVERY, THE_ROUTE, REPLY = Of(_sink), Of(_delivery), Of(_route), Of(Scene.reply)
PROGRESS = Of(lambda scene: [sinks.SinkProgress(_sink(scene), 1)])
DELIVERY_ID = Of(lambda scene: _delivery(scene).id)
SOON = Of(lambda scene: dialect.read_clock() + timedelta(hours=1))
ROOM, FILED = Of(lambda scene: anywhere()), Of(lambda scene: filed_replies.filed(10))
ALERTING = Of(lambda scene: isolation.alerting("process", "decide", NOW))
DELIVERY_OF_CLAIM = Of(lambda scene: Step.objects.get(pk=scene.claim().step_id).delivery)
STEPS_BUT_ITS = Of(
    lambda scene: Step.objects.exclude(pk=scene.claim().step_id).values_list("pk", flat=True)
)
NEW = {"subject": "Order 2", "input": {"gift": False}, "lane": "acme"}
MORE = [NewProcess(f"Order {n}", {"gift": False}, lane="acme") for n in (2, 3)]
AWAY = FaultRecord("unavailable", "http_503", "busy", retry_after=30.0)
PROBLEM = {"code": "late", "params": {}}
MINUTE = begin(NOW, Span.MINUTE) - timedelta(minutes=1)
HOUR = begin(NOW, Span.HOUR) - timedelta(hours=1)
QUEUES = {"sas.agents": {"toy.alpha", "toy.beta"}}
BEFORE = NOW - timedelta(seconds=30)
FLOW = {"rate_per_second": 2, "window": 1}
FLOW_ROWS = {"toy.alpha": (7, None, None), "toy.new": (7, 2.0, 5)}
ANSWER = {"result": {"n": 2}}
DECLINED = {"is_approved": False, "actor": "operator:eve", "how": "declined"}
VIEW = "workers.process", "Errors", "state=error"
TO_DECIDE = order.left_to_decide, order.past_deadline

_OF_PROCESSES = (
    call(submission.submit, "race", on=order.submitted, **NEW),
    call(submission.submit_many, "race", MORE, on=order.submitted),
    call(claim_steps.claim_due, AGENTS, ROOM, on=(order.submitted, desk.rated)),
    call(release.uncalled, CLAIMS, "agent", "?", on=(order.claimed, order.turned_round)),
    settle(on=(order.at_work, order.last, order.turned_round, order.undoing)),
    settle("left", "right", how="both branches"),
    settle("right", how="the other branch"),
    settle(fault=FAULT, how="a fault"),
    settle(fault=AWAY, how="unavailable"),
    settle(fault=FaultRecord("refused", "declined", "no"), how="a refusal"),
    settle(deferral=DEFERRAL, how="a deferral"),
    call(settle_replies.apply, FILED, "scheduler", on=order.filed, how="filed"),
    call(settle_replies.advance, ALONE, "x", None, _carry_out, on=TO_DECIDE),
    call(filed_replies.file, REPLY, "agent", on=order.at_work),
    call(release.release_unfinished, "run-1", "worker", on=(order.at_work, order.turned_round)),
    call(_unbegun, DELIVERY_OF_CLAIM, STEPS_BUT_ITS, "worker", on=order.at_work),
    call(release.note_death, "run-1", bool, "signal 9 (SIGKILL)", on=order.at_work),
    call(expire_claims.expire, "supervisor", on=(order.expired, order.unanswered, order.tired)),
    call(expire_claims.extend_gap, 120, 10, on=order.expired),
    call(expire_claims.flag_overdue, on=order.past_deadline),
    call(expire_claims.escalate, "supervisor", on=order.overdue),
    call(after_restore.mark, ALONE, BEFORE, actor="x", on=order.at_work),
    call(record_answers.answer, *WHERE, ANSWER, actor="x", on=(order.deferred, order.claimed)),
    call(record_answers.report_progress, *WHERE, {"done": 4}, key=KEY, on=order.deferred),
    call(record_answers.tell_of_lost_rows, "a key", on=order.submitted),
    steer(edit_input.edit_input, {"gift": True}, on=order.submitted),
    steer(erase.erase, on=(desk.long_over, desk.pruned)),
    call(persons.erase, "ann@example.org", on=desk.long_over, **OPERATOR),
    steer(operations.resubmit, nothing_happened=True, on=order.in_error),
    steer(operations.undo, outcome="cancelled", on=(order.at_work, order.claimed)),
    steer(operations.begin_again, STEP, on=(order.at_work, order.deferred)),
    steer(operations.pause, on=order.submitted),
    steer(operations.resume, on=order.paused),
    steer(operations.retry, STEP, on=order.parked),
    steer(operations.postpone, STEP, SOON, on=(order.submitted, order.parked)),
    steer(operations.retime, STEP, 10, on=(order.claimed, order.expired)),
    steer(operations.complete, STEP, {"n": 3}, on=(order.claimed, order.in_error)),
    steer(operations.redo, STEP, may_happen_twice=True, on=(order.left_out, order.ended_without)),
    steer(operations.skip, STEP, on=(order.in_error, order.parked)),
    steer(undo_requests.ask, Act("cancel"), on=(order.in_error, order.at_work)),
    call(
        undo_requests.decide, REQUEST, is_approved=True, actor="operator:bob", on=desk.asked_to_undo
    ),
    call(undo_requests.decide, REQUEST, on=desk.asked_to_undo, **DECLINED),
)
_OF_GROUPS_KEYS_AND_SCHEDULES = (
    call(child_begin.begin, 10, "scheduler", on=desk.with_a_list),
    call(child_expand.expand, GROUP, [{}, {}], on=desk.to_expand),
    call(child_carry_on.carry_on, GROUP, "scheduler", None, on=desk.listed),
    call(child_carry_on.lasting, GROUP, [], on=desk.listed),
    call(key_places.mend, on=desk.blocked),
    call(key_limits.forget_full, 100, on=desk.blocked),
    call(schedules.write, desk.HOURLY, {}, on=order.submitted),
    call(schedules.fail, "hourly", ValueError("no"), on=desk.scheduled),
    call(_steer_schedule, "hourly", on=desk.scheduled, **OPERATOR),
)
_OF_THE_DESK = (
    call(alerts.raise_alert, "restored", "look", subject=SUBJECT, now=NOW, on=order.submitted),
    call(alert_commands.acknowledge, ALERT, USER, on=order.in_error, **BY_ANN),
    call(incident_commands.acknowledge, INCIDENT, USER, on=desk.gathered, **BY_ANN),
    call(incident_commands.assign, INCIDENT, USER, on=desk.gathered, **BY_ANN),
    call(incident_commands.snooze, INCIDENT, SOON, on=desk.gathered, **BY_ANN),
    call(incident_commands.resolve, INCIDENT, USER, on=desk.gathered, **BY_ANN),
    call(notes.write_on_incident, INCIDENT, USER, "seen", on=desk.gathered, **BY_ANN),
    call(notes.write_on_process, PROCESS, USER, "seen", on=order.in_error, **BY_ANN),
    call(journal.record_act, "personal_shown", process_id=PROCESS, on=order.submitted, **BY_ANN),
    call(preferences.set_time_zone, USER, "Asia/Tokyo", on=order.in_error),
    call(preferences.set_keys, USER, is_on=False, on=order.in_error),
    call(saved_views.save, USER, *VIEW, on=(order.in_error, desk.kept)),
    call(saved_views.change, VIEW_ID, "Faults", is_shared=True, on=desk.kept),
    call(saved_views.delete, VIEW_ID, on=desk.kept),
    call(holds.hold, "agent", "toy.alpha", on=order.submitted, **OPERATOR),
    call(holds.lift, "agent", "toy.alpha", on=desk.held, **OPERATOR),
    call(flow_settings.set_flow, "toy.alpha", FLOW, on=(order.submitted, desk.rated), **OPERATOR),
    call(key_settings.set_key, "toy.keyed", "7", {"window": 3}, on=desk.blocked, **OPERATOR),
    call(flow_control.ensure, FLOW_ROWS, on=order.submitted),
    call(open_breakers.alert_long_open, NOW, on=order.submitted),
    call(incidents.collect, on=order.in_error),
    call(incidents.refresh, on=desk.healed),
    call(alert_resolution.resolve_ended, on=desk.resubmitted),
    call(jobs.create, "resubmit", SEEN, source={}, on=order.in_error, **BY_BOB),
    call(jobs.steer, JOB, "pause", on=desk.in_a_job, **BY_ANN),
    call(jobs.work, JOB, 10, on=desk.in_a_job),
    call(jobs.refuse_next, JOB, "ZeroDivisionError", on=desk.in_a_job),
)
_OF_UPKEEP = (
    call(live_workers.report, "one", "celery@one", ["sas.agents"], 2, NOW, on=order.submitted),
    call(live_workers.leave, "one", on=order.submitted),
    call(live_workers.forget_gone, NOW, on=order.submitted),
    call(worker_alerts.tell, QUEUES, NOW, on=order.submitted),
    call(worker_alerts.tell_unknown_definitions, NOW, on=order.submitted),
    call(leases.acquire, leases.SWEEP, "two", 15, on=order.submitted),
    call(leases.abandon, leases.SWEEP, "one", on=desk.leased),
    call(leases.release, leases.SWEEP, "one", on=desk.leased),
    call(leases.is_due, leases.POLL, 5, on=desk.leased),
    call(leases.set_cursor, leases.SWEEP, 7, on=desk.leased),
    call(old_processes.JOURNALS.prune, 10, on=desk.long_over),
    call(old_processes.PROCESSES.prune, 10, on=desk.pruned, how="whole"),
    call(minutes.roll_up, MINUTE, on=(order.at_work, order.in_error)),
    call(minutes.sum_up, Span.HOUR, HOUR, on=desk.rolled_up),
    call(gauges.take, on=(order.at_work, order.paused)),
    call(releases.note, "1.4.2", on=order.submitted),
    call(installation.ensure, on=order.submitted),
    call(lost_commits.look, on=desk.failed_over),
    call(lost_commits.accept, "ada", "restored", NOW, on=desk.failed_over),
    call(isolation.apart, ALONE, _fail, ALERTING, on=order.at_work),
    call(probe_results.keep, [desk.FOUND_BAD], on=desk.erring),
    call(_prune, 10, on=desk.long_over),
)
_OF_RELAYS = (
    call(sinks.claim, "queue", 10, 60, on=order.submitted),
    call(sinks.told, PROGRESS, on=order.told),
    call(sinks.put_off, SINK, 5, on=order.told),
    call(sinks.failed, SINK, 5, PROBLEM, on=order.told),
    call(sinks.give_up, SINK, PROBLEM, on=order.told),
    call(sinks.redeliver, SINK_ID, after=0, on=order.told, **BY_ANN),
    call(delivery_plans.plan, on=desk.routed),
    call(deliveries.claim, 10, 60, on=desk.noted),
    call(deliveries.delivered, DELIVERY, 200, "ok", on=desk.telling),
    call(deliveries.failed, DELIVERY, 5, 500, "oops", on=desk.telling),
    call(deliveries.put_off, DELIVERY, 5, on=desk.telling),
    call(deliveries.give_up, DELIVERY, 410, "gone", on=desk.telling),
    call(deliveries.resend, DELIVERY_ID, on=desk.given_up, **BY_ANN),
    call(deliveries.note_test, ROUTE, 60, on=desk.routed, **BY_ANN),
    call(routes.save, THE_ROUTE, on=desk.routed, **BY_ANN),
    call(routes.delete, THE_ROUTE, on=desk.noted, **BY_ANN),
    call(routes.mute, THE_ROUTE, NOW, on=desk.routed, **BY_ANN),
)
CALLS: tuple[Call, ...] = (
    *(*_OF_PROCESSES, *_OF_GROUPS_KEYS_AND_SCHEDULES),
    *(*_OF_THE_DESK, *_OF_UPKEEP, *_OF_RELAYS),
)
BY_NAME = {one.name: one for one in CALLS}
