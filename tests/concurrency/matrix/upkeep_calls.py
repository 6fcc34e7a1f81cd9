"""How verbs of upkeep are called: leases, figures, findings, and pruning."""

from datetime import timedelta
from typing import Any

from tests.concurrency.matrix import desk_scenes, order_scenes
from tests.concurrency.matrix.call import Call
from tests.concurrency.matrix.scene import NOW, Scene
from workers.desk.rules.minutes import begin
from workers.desk.states import Span
from workers.desk.store import gauges, minutes, probe_results, releases
from workers.desk.store import old_rows as desk_rows
from workers.store import (
    installation,
    isolation,
    leases,
    live_workers,
    old_rows,
    prune_journals,
    prune_processes,
    unknown_definitions,
    worker_alerts,
)
from workers.store.operate import lost_commits


def _keep_findings(scene: Scene) -> Any:
    return probe_results.keep([desk_scenes.FOUND_BAD])


def _leave_one(scene: Scene) -> Any:
    def fail(rows: Any) -> None:
        raise KeyError("agent")

    isolation.apart([scene.process_id], fail, isolation.alerting("process", "decide", NOW))


def _prune_old_rows(scene: Scene) -> Any:
    tables = [
        old_rows.FLOW_JOURNAL,
        old_rows.ALERTS,
        desk_rows.DELIVERIES,
        desk_rows.JOBS,
        old_rows.UNDO_REQUESTS,
        *desk_rows.FIGURES,
        desk_rows.INCIDENTS,
        old_rows.WEBHOOKS,
    ]
    return [list(old_rows.prune(rows, 10)) for rows in tables]


QUEUES = {"sas.agents": {"toy.alpha", "toy.beta"}}


CALLS: tuple[Call, ...] = (
    Call(
        "live_workers.report",
        lambda s: live_workers.report("one", "celery@one", ["sas.agents"], 2, NOW),
        (order_scenes.submitted,),
    ),
    Call("live_workers.leave", lambda s: live_workers.leave("one"), (order_scenes.submitted,)),
    Call(
        "live_workers.forget_gone",
        lambda s: live_workers.forget_gone(NOW),
        (order_scenes.submitted,),
    ),
    Call(
        "worker_alerts.tell",
        lambda s: worker_alerts.tell(QUEUES, NOW),
        (order_scenes.submitted,),
    ),
    Call(
        "unknown_definitions.tell",
        lambda s: unknown_definitions.tell(NOW),
        (order_scenes.submitted,),
    ),
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
        "prune_journals.prune_journals",
        lambda s: list(prune_journals.prune_journals(10)),
        (desk_scenes.long_over,),
    ),
    Call(
        "prune_processes.prune_processes",
        lambda s: list(prune_processes.prune_processes(10)),
        (desk_scenes.pruned,),
    ),
    Call(
        "prune_journals.prune_orphans",
        lambda s: list(prune_journals.prune_orphans(10)),
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
    Call("installation.ensure", lambda s: installation.ensure(), (order_scenes.submitted,)),
    Call("lost_commits.look", lambda s: lost_commits.look(), (desk_scenes.failed_over,)),
    Call(
        "lost_commits.accept",
        lambda s: lost_commits.accept("ada", "restored", NOW),
        (desk_scenes.failed_over,),
    ),
    Call("isolation.apart", _leave_one, (order_scenes.at_work,)),
    Call("probe_results.keep", _keep_findings, (desk_scenes.erring,)),
    Call("old_rows.prune", _prune_old_rows, (desk_scenes.long_over,)),
)
