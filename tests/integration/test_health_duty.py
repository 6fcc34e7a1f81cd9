"""The duty behind the figures: it goes on where it stopped, catches up, and no clock stops it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Count

from tests.factories import ProcessFactory, StepFactory
from tests.integration.conftest import NOW
from workers.client import operations
from workers.client.submission import submit
from workers.desk.models import Gauge, Minute, Release
from workers.desk.operate import health, releases
from workers.desk.rules.minutes import KEPT
from workers.desk.states import Span
from workers.desk.store import gauges, minutes, totals
from workers.models import Flow, Lease
from workers.operate import retention
from workers.store import leases
from workers.store.db import dialect
from workers.testing import frozen_clock

MINUTE = timedelta(minutes=1)


@pytest.fixture
def rolled(monkeypatch) -> list[Any]:
    """Note which minutes are rolled up, as minutes from NOW."""
    asked: list[Any] = []
    monkeypatch.setattr(
        minutes, "roll_up", lambda minute: asked.append(int((minute - NOW) / MINUTE))
    )
    return asked


def test_health_duty_begins_an_hour_back_and_resumes_at_last_minute(rolled):
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=health.GRACE_SECONDS)
        assert health.run() == health.Round(60, is_behind=False)
        assert rolled == list(range(-60, 0))

        assert health.run() == health.Round(0, is_behind=False)
        clock.advance(seconds=59)
        assert health.run() == health.Round(0, is_behind=False)
        clock.advance(seconds=1)
        assert health.run() == health.Round(1, is_behind=False)
        assert rolled[60:] == [0, -15]


def test_a_minute_waits_for_what_is_committed_late(rolled):
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=health.GRACE_SECONDS - 1)
        health.run()
    assert rolled[-1] == -2


def test_what_an_import_commits_minutes_later_is_counted():
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=60 + health.GRACE_SECONDS)
        health.run()
        with frozen_clock(NOW):
            # Committed only now, but written in a minute that is rolled up already.
            submit("toy_line", subject="Toy", input={})
        for _ in range(15):
            clock.advance(minutes=1)
            health.run()

    [of_all] = [figures for figures in totals.until_now(NOW) if not figures.agent]
    assert of_all.events == {"submitted toy_line": 1}


def test_after_an_hour_without_it_catches_up_a_bounded_piece_at_a_time(rolled):
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=health.GRACE_SECONDS)
        health.run()
        clock.advance(hours=1)
        rolled.clear()

        assert health.run(seconds=0) == health.Round(1, is_behind=True)
        assert health.run(seconds=0) == health.Round(1, is_behind=True)
        assert health.run() == health.Round(58, is_behind=False)

    assert rolled == list(range(60))


def test_after_months_without_it_begins_with_what_would_be_kept(rolled):
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=health.GRACE_SECONDS)
        health.run()
        rolled.clear()
        clock.advance(days=100)
        health.run(seconds=0)
    assert rolled == [(100 - KEPT[Span.MINUTE].days) * 24 * 60]


def test_a_clock_that_was_set_back_does_not_stop_it(rolled):
    with frozen_clock(NOW) as clock:
        clock.advance(seconds=health.GRACE_SECONDS)
        health.run()
    rolled.clear()
    with frozen_clock(NOW - timedelta(hours=1)) as clock:
        clock.advance(seconds=health.GRACE_SECONDS + 60)
        assert health.is_due()
        # What was rolled up ahead of it is left; from now on it follows the clock again.
        health.run()
        clock.advance(minutes=2)
        assert health.run() == health.Round(2, is_behind=False)
    assert rolled[::2] == [-59, -58]


def test_two_at_once_are_one(rolled):
    with frozen_clock(NOW):
        assert leases.acquire(health.HEALTH, "another", 30)
        assert health.run() is None
    assert rolled == []


def test_it_notes_how_each_agent_stands(wire, toy):
    Flow.objects.filter(agent="toy.beta").update(
        opened_at=NOW, open_until=NOW + timedelta(seconds=30)
    )
    Flow.objects.filter(agent="toy.alpha").update(window=0)
    waiting, paused = toy(), toy()
    with frozen_clock(NOW) as clock:
        operations.pause(paused.pk, actor="operator:ann", reason="stocktaking")
        clock.advance(seconds=90)
        gauges.take()
        levels = {
            level.agent: level
            for _at, level in gauges.of_span(Span.MINUTE, NOW + MINUTE, NOW + 2 * MINUTE)
        }

    assert waiting.pk != paused.pk
    alpha, beta = levels["toy.alpha"], levels["toy.beta"]
    assert (alpha.pending, alpha.window_size, alpha.oldest_seconds) == (2, 0, 90.0)
    assert (beta.breaker, beta.oldest_seconds) == ("half_open", None)


def test_what_was_undone_is_failed_no_more():
    for state, finished_at in (("error", None), ("processing", None), ("compensated", NOW)):
        process = ProcessFactory(state=state, finished_at=finished_at)
        StepFactory(process=process, agent="toy.alpha", error=True)
    with frozen_clock(NOW):
        gauges.take()
        (alpha,) = [
            level
            for _at, level in gauges.of_span(Span.MINUTE, NOW, NOW + MINUTE)
            if level.agent == "toy.alpha"
        ]
    assert alpha.failed == 2


def test_steps_of_paused_processes_are_not_the_oldest(wire, toy):
    Flow.objects.filter(agent="toy.alpha").update(window=0)
    process = toy()
    with frozen_clock(NOW) as clock:
        operations.pause(process.pk, actor="operator:ann", reason="stocktaking")
        clock.advance(seconds=5)
        gauges.take()
        (alpha,) = [
            level
            for _at, level in gauges.of_span(Span.MINUTE, NOW, NOW + MINUTE)
            if level.agent == "toy.alpha"
        ]
    assert (alpha.pending, alpha.oldest_seconds) == (1, None)


def test_a_minute_s_look_is_its_last_and_a_longer_span_s_its_worst(wire, toy):
    Flow.objects.filter(agent="toy.alpha").update(window=0)
    with frozen_clock(NOW) as clock:
        toy()
        gauges.take()
        toy()
        clock.advance(seconds=30)
        gauges.take()
        Flow.objects.filter(agent="toy.alpha").update(window=9)
        wire.run_until_idle()
        clock.advance(seconds=40)
        gauges.take()

    def pending(span: Span) -> list[int]:
        looks = gauges.of_span(span, NOW, NOW + timedelta(hours=1))
        return [look.pending for _at, look in looks if look.agent == "toy.alpha"]

    assert pending(Span.MINUTE) == [2, 0]
    assert pending(Span.TEN_MINUTES) == pending(Span.HOUR) == [2]


def test_figures_go_when_their_span_is_over():
    for span, kept in KEPT.items():
        for seconds in (-1, 1):
            at = dialect.instant_text(NOW - kept + timedelta(seconds=seconds))
            dialect.execute(
                "INSERT INTO desk_minute (span, at, agent, counts, calls, waits, workers)"
                " VALUES (%s, %s, '', '{}', '{}', '{}', 0)",
                [int(span), at],
            )

    assert retention.prune(["figures"], now=NOW, batch=2) == {"figures": 3}

    left = Minute.objects.values_list("span").annotate(Count("pk")).order_by("span")
    assert list(left) == [(60, 1), (600, 1), (3600, 1)]


def test_code_is_kept_once_by_its_name(settings, monkeypatch, wire):
    monkeypatch.setattr(releases, "_noted", set())
    settings.SAS_RELEASE = "1.4.2"
    releases.note_own()
    releases.note_own()
    settings.SAS_RELEASE = ""
    releases.note_own()

    names = list(Release.objects.order_by("pk").values_list("name", flat=True))
    assert names[0] == "1.4.2"
    assert names[1].startswith("definitions ")
    assert len(names) == 2


def test_the_round_is_a_lease_of_its_own(rolled):
    with frozen_clock(NOW):
        health.run()
    assert Lease.objects.get(name=health.HEALTH).holder is None
    assert Gauge.objects.exists()
