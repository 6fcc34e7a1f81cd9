"""How verbs of operators are called: of alerts and incidents, of what may be claimed, of jobs."""

from datetime import timedelta
from typing import Any

from tests.concurrency.matrix import desk_scenes, order_scenes
from tests.concurrency.matrix.call import ANN, Call
from tests.concurrency.matrix.scene import NOW, OPERATOR, Scene
from workers.desk.store import (
    alert_commands,
    incident_commands,
    incidents,
    jobs,
    notes,
    preferences,
    saved_views,
)
from workers.rules.approved_acts import Act
from workers.store import acts, alert_resolution, alerts
from workers.store.flow import flow_control, flow_settings, holds, open_breakers
from workers.store.operate import undo_requests


def _start_job(scene: Scene) -> Any:
    told = {"actor": "operator:bob", "reason": "because", "source": {}}
    return jobs.create("resubmit", {scene.process_id: 0}, **told)


CALLS: tuple[Call, ...] = (
    Call(
        "alerts.raise_alert",
        lambda s: alerts.raise_alert("restored", "look", subject=str(s.process_id), now=NOW),
        (order_scenes.submitted,),
    ),
    Call(
        "alert_commands.acknowledge",
        lambda s: alert_commands.acknowledge(s.alert_id, s.user_id, actor=ANN),
        (order_scenes.in_error,),
    ),
    Call(
        "incident_commands.acknowledge",
        lambda s: incident_commands.acknowledge(s.incident_id, s.user_id, actor=ANN),
        (desk_scenes.gathered,),
    ),
    Call(
        "incident_commands.assign",
        lambda s: incident_commands.assign(s.incident_id, s.user_id, actor=ANN),
        (desk_scenes.gathered,),
    ),
    Call(
        "incident_commands.snooze",
        lambda s: incident_commands.snooze(s.incident_id, NOW + timedelta(hours=1), actor=ANN),
        (desk_scenes.gathered,),
    ),
    Call(
        "incident_commands.resolve",
        lambda s: incident_commands.resolve(s.incident_id, s.user_id, actor=ANN),
        (desk_scenes.gathered,),
    ),
    Call(
        "notes.write_on_incident",
        lambda s: notes.write_on_incident(s.incident_id, s.user_id, "seen", actor=ANN),
        (desk_scenes.gathered,),
    ),
    Call(
        "notes.write_on_process",
        lambda s: notes.write_on_process(s.process_id, s.user_id, "seen", actor=ANN),
        (order_scenes.in_error,),
    ),
    Call(
        "acts.record_act",
        lambda s: acts.record_act("personal_shown", actor=ANN, process_id=s.process_id),
        (order_scenes.submitted,),
    ),
    Call(
        "preferences.set_time_zone",
        lambda s: preferences.set_time_zone(s.user_id, "Asia/Tokyo"),
        (order_scenes.in_error,),
    ),
    Call(
        "preferences.set_keys",
        lambda s: preferences.set_keys(s.user_id, is_on=False),
        (order_scenes.in_error,),
    ),
    Call(
        "saved_views.save",
        lambda s: saved_views.save(s.user_id, "workers.process", "Errors", "state=error"),
        (order_scenes.in_error, desk_scenes.kept),
    ),
    Call(
        "saved_views.change",
        lambda s: saved_views.change(s.view_id, "Faults", is_shared=True),
        (desk_scenes.kept,),
    ),
    Call("saved_views.delete", lambda s: saved_views.delete(s.view_id), (desk_scenes.kept,)),
    Call(
        "holds.hold",
        lambda s: holds.hold("agent", "toy.alpha", **OPERATOR),
        (order_scenes.submitted,),
    ),
    Call("holds.lift", lambda s: holds.lift("agent", "toy.alpha", **OPERATOR), (desk_scenes.held,)),
    Call(
        "flow_settings.set_flow",
        lambda s: flow_settings.set_flow(
            "toy.alpha", {"rate_per_second": 2, "window": 1}, **OPERATOR
        ),
        (order_scenes.submitted, desk_scenes.rated),
    ),
    Call(
        "flow_control.ensure",
        lambda s: flow_control.ensure({"toy.alpha": (7, None, None), "toy.new": (7, 2.0, 5)}),
        (order_scenes.submitted,),
    ),
    Call(
        "open_breakers.alert_long_open",
        lambda s: open_breakers.alert_long_open(NOW),
        (order_scenes.submitted,),
    ),
    Call("incidents.collect", lambda s: incidents.collect(), (order_scenes.in_error,)),
    Call("incidents.refresh", lambda s: incidents.refresh(), (desk_scenes.healed,)),
    Call(
        "alert_resolution.resolve_ended",
        lambda s: alert_resolution.resolve_ended(),
        (desk_scenes.resubmitted,),
    ),
    Call(
        "undo_requests.ask",
        lambda s: undo_requests.ask(s.process_id, Act("cancel"), **OPERATOR),
        (order_scenes.in_error, order_scenes.at_work),
    ),
    Call(
        "undo_requests.decide",
        lambda s: undo_requests.decide(s.undo_request_id, is_approved=True, actor="operator:bob"),
        (desk_scenes.asked_to_undo,),
    ),
    Call(
        "undo_requests.decide",
        lambda s: undo_requests.decide(s.undo_request_id, is_approved=False, actor="operator:eve"),
        (desk_scenes.asked_to_undo,),
        how="declined",
    ),
    Call("jobs.create", _start_job, (order_scenes.in_error,)),
    Call(
        "jobs.steer",
        lambda s: jobs.steer(s.job_id, "pause", actor=ANN),
        (desk_scenes.in_a_job,),
    ),
    Call("jobs.work", lambda s: jobs.work(s.job_id, 10), (desk_scenes.in_a_job,)),
    Call(
        "jobs.refuse_next",
        lambda s: jobs.refuse_next(s.job_id, "ZeroDivisionError"),
        (desk_scenes.in_a_job,),
    ),
)
