"""How each verb of the store is called in a scene, and the scenes in which it has work."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from tests.concurrency.matrix import scenes
from tests.concurrency.matrix.scenes import AGENTS, DEFERRAL, FAULT, NOW, OPERATOR, Scene
from workers.client import submission
from workers.models import Route
from workers.rules.apply_reply import carry_out_policies
from workers.rules.minutes import begin
from workers.rules.rows import NewProcess
from workers.states import Span
from workers.store import (
    acts,
    alert_resolution,
    alerts,
    deliveries,
    delivery_plans,
    gauges,
    incidents,
    leases,
    minutes,
    preferences,
    probe_results,
    prune_figures,
    prune_jobs,
    prune_rows,
    prune_undo_requests,
    received_webhooks,
    releases,
    routes,
    saved_views,
    sinks,
)
from workers.store.claims import claim_steps, dead_workers, release, unstarted
from workers.store.expire import expire_claims
from workers.store.flow import flow_control, flow_settings, holds, spend_rate
from workers.store.locked import step_index
from workers.store.operate import (
    after_restore,
    alert_commands,
    commands,
    edit_input,
    incident_commands,
    jobs,
    notes,
    record_answers,
    undo_requests,
)
from workers.store.settle import filed_replies, settle_replies

ANN = "operator:ann"
PROBLEM = {"code": "late", "params": {}}


@dataclass(frozen=True)
class Call:
    """A verb, by its name in the code, called on a scene."""

    verb: str
    run: Callable[[Scene], Any]
    settings: tuple[scenes.Setting, ...]
    #: Tells two calls of one verb apart.
    how: str = ""

    @property
    def name(self) -> str:
        return f"{self.verb}, {self.how}" if self.how else self.verb


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
    return Route(
        pk=scene.route_id or None,
        name="ops",
        kind="mail",
        address="night@example.org",
        time_zone="UTC",
    )


def _save_route(scene: Scene) -> None:
    routes.save(_route(scene), actor=ANN)


def _start(scene: Scene) -> Any:
    claim = scene.claim()
    wanted = [(claim.step_id, claim.claim_id)]
    return claim_steps.start(wanted, timeout_seconds=30, worker="agent@run-2", delivery=uuid4())


def _note_death(scene: Scene) -> Any:
    claim = scene.claim()
    return dead_workers.note({claim.step_id: claim.claim_id}, "signal 9 (SIGKILL)")


def _submit(scene: Scene) -> None:
    submission.submit("race", subject="Order 2", input={"gift": False}, lane="acme")


def _submit_many(scene: Scene) -> None:
    more = [NewProcess(f"Order {n}", {"gift": False}, lane="acme") for n in (2, 3)]
    submission.submit_many("race", more)


def _answer(scene: Scene) -> Any:
    return record_answers.answer(
        scene.process_id, scene.step, {"result": {"n": 2}}, actor="callback"
    )


def _report(scene: Scene) -> Any:
    progress = {"percent": 40}
    return record_answers.report_progress(scene.process_id, scene.step, progress, key=scene.key)


def _edit(scene: Scene) -> Any:
    return edit_input.edit_input(scene.process_id, {"gift": True}, **OPERATOR)


def _start_job(scene: Scene) -> Any:
    told = {"actor": "operator:bob", "reason": "because", "source": {}}
    return jobs.create("resubmit", {scene.process_id: 0}, **told)


def _keep_findings(scene: Scene) -> Any:
    return probe_results.keep([scenes.FOUND_BAD])


def _steer(verb: Callable[..., Any], *words: Any, about_step: bool = True, **more: Any) -> Any:
    def run(scene: Scene) -> Any:
        named = (scene.step,) if about_step else ()
        return verb(scene.process_id, *named, *words, **more, **OPERATOR)

    return run


def _settle(*names: str, **kind: Any) -> Callable[[Scene], Any]:
    def run(scene: Scene) -> Any:
        replies = [scene.reply(name, **kind) for name in (names or ("",))]
        return settle_replies.settle(replies, "scheduler")

    return run


def _settle_filed(scene: Scene) -> Any:
    return settle_replies.settle(filed_replies.filed(10), "scheduler", filed=True)


REFUSAL = {"kind": "refused", "code": "declined", "message": "no"}
AWAY = {"kind": "unavailable", "code": "http_503", "message": "busy", "retry_after": 30}

CALLS: tuple[Call, ...] = (
    # Operators, of alerts and of what may be claimed
    Call(
        "alerts.raise_alert",
        lambda s: alerts.raise_alert("restored", "look", subject=str(s.process_id), now=NOW),
        (scenes.submitted,),
    ),
    Call(
        "alert_commands.acknowledge",
        lambda s: alert_commands.acknowledge(s.alert_id, s.user_id, actor=ANN),
        (scenes.in_error,),
    ),
    Call(
        "incident_commands.acknowledge",
        lambda s: incident_commands.acknowledge(s.incident_id, s.user_id, actor="operator:ann"),
        (scenes.gathered,),
    ),
    Call(
        "incident_commands.assign",
        lambda s: incident_commands.assign(s.incident_id, s.user_id, actor="operator:ann"),
        (scenes.gathered,),
    ),
    Call(
        "incident_commands.snooze",
        lambda s: incident_commands.snooze(
            s.incident_id, NOW + timedelta(hours=1), actor="operator:ann"
        ),
        (scenes.gathered,),
    ),
    Call(
        "incident_commands.resolve",
        lambda s: incident_commands.resolve(s.incident_id, s.user_id, actor="operator:ann"),
        (scenes.gathered,),
    ),
    Call(
        "notes.write_on_incident",
        lambda s: notes.write_on_incident(s.incident_id, s.user_id, "seen", actor=ANN),
        (scenes.gathered,),
    ),
    Call(
        "notes.write_on_process",
        lambda s: notes.write_on_process(s.process_id, s.user_id, "seen", actor=ANN),
        (scenes.in_error,),
    ),
    Call(
        "acts.record_act",
        lambda s: acts.record_act("personal_shown", actor="operator:ann", process_id=s.process_id),
        (scenes.submitted,),
    ),
    Call(
        "preferences.set_time_zone",
        lambda s: preferences.set_time_zone(s.user_id, "Asia/Tokyo"),
        (scenes.in_error,),
    ),
    Call(
        "preferences.set_keys",
        lambda s: preferences.set_keys(s.user_id, is_on=False),
        (scenes.in_error,),
    ),
    Call(
        "saved_views.save",
        lambda s: saved_views.save(s.user_id, "workers.process", "Errors", "state=error"),
        (scenes.in_error, scenes.kept),
    ),
    Call(
        "saved_views.change",
        lambda s: saved_views.change(s.view_id, "Faults", is_shared=True),
        (scenes.kept,),
    ),
    Call("saved_views.delete", lambda s: saved_views.delete(s.view_id), (scenes.kept,)),
    Call("holds.hold", lambda s: holds.hold("agent", "toy.alpha", **OPERATOR), (scenes.submitted,)),
    Call("holds.lift", lambda s: holds.lift("agent", "toy.alpha", **OPERATOR), (scenes.held,)),
    Call(
        "flow_settings.set_flow",
        lambda s: flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 2, "window": 1}, **OPERATOR
        ),
        (scenes.submitted, scenes.rated),
    ),
    Call(
        "flow_control.ensure",
        lambda s: flow_control.ensure({"toy.alpha": (7, None), "toy.new": (7, 2.0)}),
        (scenes.submitted,),
    ),
    Call(
        "flow_control.alert_long_open",
        lambda s: flow_control.alert_long_open(NOW),
        (scenes.submitted,),
    ),
    Call("spend_rate.spend", lambda s: spend_rate.spend("toy.alpha", 1), (scenes.rated,)),
    # Scheduler
    Call("submission.submit", _submit, (scenes.submitted,)),
    Call("submission.submit_many", _submit_many, (scenes.submitted,)),
    Call(
        "claim_steps.claim_due",
        lambda s: claim_steps.claim_due(AGENTS, "scheduler"),
        (scenes.submitted, scenes.rated),
    ),
    Call(
        "unstarted.hand_back",
        lambda s: unstarted.hand_back([s.claim()], "scheduler", "refused"),
        (scenes.claimed,),
    ),
    Call("unstarted.lost", lambda s: unstarted.lost("scheduler"), (scenes.lost,)),
    Call(
        "settle_replies.settle",
        _settle(),
        (scenes.at_work, scenes.last, scenes.turned_round, scenes.undoing),
    ),
    Call("settle_replies.settle", _settle("left", "right"), (scenes.at_work,), "both branches"),
    Call("settle_replies.settle", _settle("right"), (scenes.at_work,), "the other branch"),
    Call("settle_replies.settle", _settle(fault=FAULT), (scenes.at_work,), "a fault"),
    Call("settle_replies.settle", _settle(fault=AWAY), (scenes.at_work,), "unavailable"),
    Call("settle_replies.settle", _settle(fault=REFUSAL), (scenes.at_work,), "a refusal"),
    Call("settle_replies.settle", _settle(deferral=DEFERRAL), (scenes.at_work,), "a deferral"),
    Call("settle_replies.settle", _settle_filed, (scenes.filed,), "filed"),
    Call(
        "settle_replies.advance",
        lambda s: settle_replies.advance(
            [s.process_id], "scheduler", None, lambda p: carry_out_policies(p, "scheduler")
        ),
        (scenes.left_to_decide, scenes.past_deadline),
    ),
    # Agents and the worker's end
    Call("claim_steps.start", _start, (scenes.claimed,)),
    Call("filed_replies.file", lambda s: filed_replies.file(s.reply(), "agent"), (scenes.at_work,)),
    Call(
        "release.surrender",
        lambda s: release.surrender("run-1", "worker"),
        (scenes.at_work, scenes.turned_round),
    ),
    Call("dead_workers.note", _note_death, (scenes.at_work,)),
    # Supervisor
    Call("incidents.collect", lambda s: incidents.collect(), (scenes.in_error,)),
    Call("incidents.refresh", lambda s: incidents.refresh(), (scenes.healed,)),
    Call(
        "alert_resolution.resolve_ended",
        lambda s: alert_resolution.resolve_ended(),
        (scenes.resubmitted,),
    ),
    Call(
        "expire_claims.expire",
        lambda s: expire_claims.expire("supervisor"),
        (scenes.expired, scenes.unanswered, scenes.tired),
    ),
    Call(
        "expire_claims.extend_gap", lambda s: expire_claims.extend_gap(120, 10), (scenes.expired,)
    ),
    Call("step_index.put_off", lambda s: step_index.put_off(), (scenes.going_on,)),
    Call(
        "expire_claims.flag_overdue",
        lambda s: expire_claims.flag_overdue(),
        (scenes.past_deadline,),
    ),
    Call(
        "expire_claims.escalate", lambda s: expire_claims.escalate("supervisor"), (scenes.overdue,)
    ),
    Call(
        "step_index.mend",
        lambda s: step_index.mend([s.process_id]),
        (scenes.not_found, scenes.found_wrong),
    ),
    Call("leases.acquire", lambda s: leases.acquire(leases.SWEEP, "two", 15), (scenes.submitted,)),
    Call("leases.abandon", lambda s: leases.abandon(leases.SWEEP, "one"), (scenes.leased,)),
    Call("leases.release", lambda s: leases.release(leases.SWEEP, "one"), (scenes.leased,)),
    Call("leases.is_due", lambda s: leases.is_due(leases.POLL, 5), (scenes.leased,)),
    Call("leases.set_cursor", lambda s: leases.set_cursor(leases.SWEEP, 7), (scenes.leased,)),
    Call(
        "after_restore.mark",
        lambda s: after_restore.mark([s.process_id], NOW - timedelta(seconds=30), actor="restore"),
        (scenes.at_work,),
    ),
    Call(
        "received_webhooks.forget",
        lambda s: list(received_webhooks.forget(10)),
        (scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_journals",
        lambda s: list(prune_rows.prune_journals(10)),
        (scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_alerts", lambda s: list(prune_rows.prune_alerts(10)), (scenes.long_over,)
    ),
    Call(
        "prune_rows.prune_incidents",
        lambda s: list(prune_rows.prune_incidents(10)),
        (scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_orphans",
        lambda s: list(prune_rows.prune_orphans(10)),
        (scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_flow_journal",
        lambda s: list(prune_rows.prune_flow_journal(10)),
        (scenes.long_over,),
    ),
    # Relays
    Call("sinks.claim", lambda s: sinks.claim("queue", 10, 60), (scenes.submitted,)),
    Call("sinks.told", lambda s: sinks.told([sinks.Told(_sink(s), 1)]), (scenes.told,)),
    Call("sinks.put_off", lambda s: sinks.put_off(_sink(s), 5), (scenes.told,)),
    Call("sinks.failed", lambda s: sinks.failed(_sink(s), 5, PROBLEM), (scenes.told,)),
    Call("sinks.give_up", lambda s: sinks.give_up(_sink(s), PROBLEM), (scenes.told,)),
    Call(
        "sinks.redeliver", lambda s: sinks.redeliver(s.sink_id, after=0, actor=ANN), (scenes.told,)
    ),
    # Routes
    Call("delivery_plans.plan", lambda s: delivery_plans.plan(), (scenes.routed,)),
    Call("deliveries.claim", lambda s: deliveries.claim(10, 60), (scenes.noted,)),
    Call(
        "deliveries.delivered",
        lambda s: deliveries.delivered(_delivery(s), 200, "ok"),
        (scenes.telling,),
    ),
    Call(
        "deliveries.failed",
        lambda s: deliveries.failed(_delivery(s), 5, 500, "oops"),
        (scenes.telling,),
    ),
    Call("deliveries.put_off", lambda s: deliveries.put_off(_delivery(s), 5), (scenes.telling,)),
    Call(
        "deliveries.give_up",
        lambda s: deliveries.give_up(_delivery(s), 410, "gone"),
        (scenes.telling,),
    ),
    Call(
        "deliveries.resend",
        lambda s: deliveries.resend(_delivery(s).id, actor=ANN),
        (scenes.given_up,),
    ),
    Call(
        "deliveries.note_test",
        lambda s: deliveries.note_test(s.route_id, 60, actor=ANN),
        (scenes.routed,),
    ),
    Call("routes.save", _save_route, (scenes.routed,)),
    Call("routes.delete", lambda s: routes.delete(_route(s), actor=ANN), (scenes.noted,)),
    Call("routes.mute", lambda s: routes.mute(_route(s), NOW, actor=ANN), (scenes.routed,)),
    Call(
        "prune_rows.prune_deliveries",
        lambda s: list(prune_rows.prune_deliveries(10)),
        (scenes.long_over,),
    ),
    # Answers from outside
    Call("record_answers.answer", _answer, (scenes.deferred, scenes.lost)),
    Call("record_answers.report_progress", _report, (scenes.deferred,)),
    # Operators, of an order
    Call("edit_input.edit_input", _edit, (scenes.submitted,)),
    Call(
        "commands.resubmit",
        _steer(commands.resubmit, about_step=False, nothing_happened=True),
        (scenes.in_error,),
    ),
    Call(
        "commands.undo",
        _steer(commands.undo, about_step=False, outcome="cancelled"),
        (scenes.at_work, scenes.claimed),
    ),
    Call("commands.begin_again", _steer(commands.begin_again), (scenes.at_work, scenes.deferred)),
    Call("commands.pause", _steer(commands.pause, about_step=False), (scenes.submitted,)),
    Call("commands.resume", _steer(commands.resume, about_step=False), (scenes.paused,)),
    Call("commands.retry_now", _steer(commands.retry_now), (scenes.parked,)),
    Call("commands.retime", _steer(commands.retime, 10), (scenes.claimed, scenes.expired)),
    Call(
        "commands.complete", _steer(commands.complete, {"n": 3}), (scenes.claimed, scenes.in_error)
    ),
    Call("commands.skip", _steer(commands.skip), (scenes.in_error, scenes.parked)),
    # Two persons
    Call(
        "undo_requests.ask",
        lambda s: undo_requests.ask(s.process_id, "cancel", **OPERATOR),
        (scenes.in_error, scenes.at_work),
    ),
    Call(
        "undo_requests.decide",
        lambda s: undo_requests.decide(s.undo_request_id, is_approved=True, actor="operator:bob"),
        (scenes.asked_to_undo,),
    ),
    Call(
        "undo_requests.decide",
        lambda s: undo_requests.decide(s.undo_request_id, is_approved=False, actor="operator:eve"),
        (scenes.asked_to_undo,),
        how="declined",
    ),
    Call(
        "prune_undo_requests.prune_undo_requests",
        lambda s: list(prune_undo_requests.prune_undo_requests(10)),
        (scenes.long_over,),
    ),
    # Jobs
    Call("jobs.create", _start_job, (scenes.in_error,)),
    Call(
        "jobs.steer",
        lambda s: jobs.steer(s.job_id, "pause", actor="operator:ann"),
        (scenes.in_a_job,),
    ),
    Call("jobs.work", lambda s: jobs.work(s.job_id, 10), (scenes.in_a_job,)),
    Call(
        "jobs.refuse_next",
        lambda s: jobs.refuse_next(s.job_id, "ZeroDivisionError"),
        (scenes.in_a_job,),
    ),
    # Health
    Call(
        "minutes.roll_up",
        lambda s: minutes.roll_up(begin(NOW, Span.MINUTE) - timedelta(minutes=1)),
        (scenes.at_work, scenes.in_error),
    ),
    Call(
        "minutes.sum_up",
        lambda s: minutes.sum_up(Span.HOUR, begin(NOW, Span.HOUR) - timedelta(hours=1)),
        (scenes.rolled_up,),
    ),
    Call("gauges.take", lambda s: gauges.take(), (scenes.at_work, scenes.paused)),
    Call("releases.note", lambda s: releases.note("1.4.2"), (scenes.submitted,)),
    Call("probe_results.keep", _keep_findings, (scenes.erring,)),
    Call(
        "prune_figures.prune_figures",
        lambda s: list(prune_figures.prune_figures(10)),
        (scenes.long_over,),
    ),
    Call("prune_jobs.prune_jobs", lambda s: list(prune_jobs.prune_jobs(10)), (scenes.long_over,)),
)
