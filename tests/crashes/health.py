"""Figures and what the doctor finds: whoever dies over them, the next round comes to the same."""

from datetime import timedelta
from typing import Any

from tests.crashes.scenario import Scenario, nothing
from workers.client.submission import submit
from workers.desk import retention as desk_rows
from workers.desk.models import Gauge, Minute, ProbeResult, Release
from workers.desk.operate import examinations, health, releases
from workers.desk.rules.minutes import EVERY_PROCESS, KEPT, begin
from workers.desk.states import Span
from workers.desk.store import gauges, minutes, probe_results
from workers.desk.store.probe_results import ProbeOutcome
from workers.models import Alert, Journal
from workers.operate import retention
from workers.store.db import dialect
from workers.testing import Aftermath, Clock, Wire, frozen_clock

#: Whoever died holds its lease no longer.
LONGER_THAN_ALL = health.LEASE_SECONDS + examinations.LEASE_SECONDS


def _worked(wire: Wire) -> None:
    submit("toy_line", subject="Toy 1", input={})
    wire.run_until_idle()


def _worked_at_half_past(wire: Wire) -> None:
    with frozen_clock(begin(dialect.read_clock(), Span.HOUR) + timedelta(minutes=30)):
        _worked(wire)


def _keep_figures(wire: Wire, clock: Clock) -> None:
    # The hour of the work is over by then, whatever time it really is: how often it is summed up
    # hangs on that.
    over = begin(Journal.objects.earliest("at").at, Span.HOUR) + timedelta(hours=1)
    clock.travel_to(max(clock.now, over))
    for _ in range(2):
        clock.advance(seconds=LONGER_THAN_ALL)
        releases._noted.clear()
        releases.note_own()
        health.run()
    # By then the hour is part of the sum of all time.
    clock.advance(hours=3)
    health.run()


def _counted_once(after: Aftermath) -> None:
    rows = Minute.objects.filter(agent=EVERY_PROCESS, span=Span.MINUTE)
    counts = [row.counts for row in rows]
    assert sum(one.get("taken", 0) for one in counts) == 1
    assert sum(one.get("ended", 0) for one in counts) == 1
    hours = Minute.objects.filter(agent=EVERY_PROCESS, span=Span.HOUR)
    assert sum(row.counts.get("taken", 0) for row in hours) == 1
    (ever,) = Minute.objects.filter(agent=EVERY_PROCESS, span=Span.EVER)
    assert ever.counts["taken"] == 1
    assert Gauge.objects.filter(span=Span.MINUTE, agent="toy.alpha").exists()
    assert Release.objects.count() == 1


def _keep_findings() -> None:
    finding: dict[str, Any] = {"level": "error", "what": "bad", "why": "", "remedy": ""}
    for _ in range(2):
        probe_results.keep(
            [ProbeOutcome("toys.well", "ok"), ProbeOutcome("toys.bad", "error", [finding])]
        )


def _told_of_once(after: Aftermath) -> None:
    assert dict(ProbeResult.objects.values_list("name", "level")) == {
        "toys.well": "ok",
        "toys.bad": "error",
    }
    assert list(Alert.objects.values_list("code", "times")) == [("probe_failed", 1)]


def _old(wire: Wire) -> None:
    _worked(wire)
    long_ago = dialect.read_clock() - KEPT[Span.HOUR] - timedelta(days=1)
    gauges.take(long_ago)
    minutes.roll_up(begin(dialect.read_clock(), Span.MINUTE))


def _prune() -> None:
    for rows in desk_rows.FIGURES:
        list(rows.prune(2))


def _old_are_gone(after: Aftermath) -> None:
    assert not Gauge.objects.exists()
    assert Minute.objects.exists()
    assert retention.prune(["figures"]) is not None


SCENARIOS = [
    Scenario(
        "keep figures",
        lambda: None,
        _counted_once,
        prepare=_worked_at_half_past,
        run=_keep_figures,
        brief=(
            *("minutes.roll_up", "minutes.sum_up", "totals.carry_forward"),
            *("gauges.take", "releases.note"),
        ),
    ),
    Scenario(
        "keep what the doctor finds",
        _keep_findings,
        _told_of_once,
        run=nothing,
        brief=("probe_results.keep",),
    ),
    Scenario(
        "prune figures", _prune, _old_are_gone, prepare=_old, run=nothing, brief=("old_rows.prune",)
    ),
]
