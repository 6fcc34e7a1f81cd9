"""How verbs of upkeep are called: leases, figures, findings, and pruning."""

from datetime import timedelta
from typing import Any

from tests.concurrency.matrix import desk_scenes, order_scenes
from tests.concurrency.matrix.call import Call
from tests.concurrency.matrix.scene import NOW, Scene
from workers.rules.minutes import begin
from workers.states import Span
from workers.store import (
    gauges,
    leases,
    minutes,
    probe_results,
    prune_figures,
    prune_jobs,
    prune_rows,
    prune_undo_requests,
    received_webhooks,
    releases,
)


def _keep_findings(scene: Scene) -> Any:
    return probe_results.keep([desk_scenes.FOUND_BAD])


CALLS: tuple[Call, ...] = (
    Call(
        "leases.acquire",
        lambda s: leases.acquire(leases.SWEEP, "two", 15),
        (order_scenes.submitted,),
    ),
    Call("leases.abandon", lambda s: leases.abandon(leases.SWEEP, "one"), (desk_scenes.leased,)),
    Call("leases.release", lambda s: leases.release(leases.SWEEP, "one"), (desk_scenes.leased,)),
    Call("leases.is_due", lambda s: leases.is_due(leases.POLL, 5), (desk_scenes.leased,)),
    Call("leases.set_cursor", lambda s: leases.set_cursor(leases.SWEEP, 7), (desk_scenes.leased,)),
    Call(
        "received_webhooks.forget",
        lambda s: list(received_webhooks.forget(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_undo_requests.prune_undo_requests",
        lambda s: list(prune_undo_requests.prune_undo_requests(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_journals",
        lambda s: list(prune_rows.prune_journals(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_alerts",
        lambda s: list(prune_rows.prune_alerts(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_incidents",
        lambda s: list(prune_rows.prune_incidents(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_orphans",
        lambda s: list(prune_rows.prune_orphans(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_flow_journal",
        lambda s: list(prune_rows.prune_flow_journal(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_rows.prune_deliveries",
        lambda s: list(prune_rows.prune_deliveries(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "minutes.roll_up",
        lambda s: minutes.roll_up(begin(NOW, Span.MINUTE) - timedelta(minutes=1)),
        (order_scenes.at_work, order_scenes.in_error),
    ),
    Call(
        "minutes.sum_up",
        lambda s: minutes.sum_up(Span.HOUR, begin(NOW, Span.HOUR) - timedelta(hours=1)),
        (desk_scenes.rolled_up,),
    ),
    Call("gauges.take", lambda s: gauges.take(), (order_scenes.at_work, order_scenes.paused)),
    Call("releases.note", lambda s: releases.note("1.4.2"), (order_scenes.submitted,)),
    Call("probe_results.keep", _keep_findings, (desk_scenes.erring,)),
    Call(
        "prune_figures.prune_figures",
        lambda s: list(prune_figures.prune_figures(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_jobs.prune_jobs", lambda s: list(prune_jobs.prune_jobs(10)), (desk_scenes.long_over,)
    ),
)
