"""Minutes are rolled up from the journal: what became of calls and of processes, and how long."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import DataError

from tests.integration.conftest import NOW
from tests.toyflow import agents as toy
from workers import supervisor
from workers.client.submission import submit
from workers.desk import wake_ups
from workers.desk.models import Minute
from workers.desk.operate import health
from workers.desk.rules import latency
from workers.desk.rules.minutes import Figures
from workers.desk.states import Span
from workers.desk.store import minutes
from workers.exceptions import Permanent, Refused, Transient, Unavailable
from workers.models import Alert
from workers.runtime.json_text import encode_document
from workers.store.db import dialect
from workers.testing import Clock, frozen_clock

MINUTE = timedelta(minutes=1)


def row(at: datetime = NOW, span: Span = Span.MINUTE, agent: str = "toy.alpha") -> Figures:
    (found,) = [one for one in rows(at, span) if one.agent == agent]
    return found


def rows(at: datetime = NOW, span: Span = Span.MINUTE) -> list[Figures]:
    found = minutes.of_span(span, at, at + timedelta(microseconds=1))
    return [figures for _at, figures in found]


def counts(at: datetime = NOW) -> dict[str, dict[str, int]]:
    return {one.agent: dict(one.counts) for one in rows(at)}


def ended(event: str, at: datetime, seconds: float = 1.0, **detail: Any) -> None:
    """Write the row of a claim that ended ``at``, so long after its start."""
    started = at - timedelta(seconds=seconds)
    facts = {
        "agent": "toy.alpha",
        "locked_by": "agent@host:7",
        "claimed_at": (started - timedelta(seconds=0.5)).isoformat(),
        "started_at": started.isoformat(),
        "complete_by": (started + timedelta(seconds=30)).isoformat(),
        **detail,
    }
    # As the store writes its instants: SQLite compares them as texts.
    dialect.execute(
        "INSERT INTO workers_journal (process_id, step_id, event, before, actor, detail, at)"
        " VALUES (1, 1, %s, 'processing', 'scheduler', %s, %s)",
        [event, encode_document(facts), dialect.instant_text(at)],
    )


@pytest.fixture(autouse=True)
def loose_rows(transactional_db) -> None:
    """Rows of the journal need no process: it has no constraint in the database."""


def test_every_kind_of_result_is_counted_at_its_agent(wire):
    faults: dict[str, Exception] = {
        "refused": Refused("no", "declined"),
        "permanent": Permanent("bad", "is bad"),
        "transient": Transient("slow", "try again"),
        "unavailable": Unavailable("away", "nobody there"),
    }
    with frozen_clock(NOW) as clock:
        for fault in (None, *faults.values()):
            toy.script["toy.alpha"] = lambda call, fault=fault: _act(fault)
            submit("toy_line", subject="Toy", input={})
            wire.run_until_idle()
        clock.advance(seconds=59)
        submit("toy_line", subject="Toy", input={})
        toy.script["toy.alpha"] = lambda call: _act(None)
        clock.advance(seconds=1)
        wire.run_until_idle()

    assert minutes.roll_up(NOW) > 1

    assert counts()["toy.alpha"] == {"ok": 1, **dict.fromkeys(faults, 1)}
    assert counts()[""] == {"taken": 6, "ended": 2, "failed": 1}


def _act(fault: Exception | None) -> dict[str, Any]:
    if fault is not None:
        raise fault
    return {}


def test_a_claim_that_expires_is_counted_with_the_time_it_had(wire):
    ended("expired", NOW + timedelta(seconds=45), seconds=31)

    minutes.roll_up(NOW)

    assert row().counts == {"expired": 1}
    assert row().calls == {latency.bucket_of(30.0): 1}


def test_call_and_waiting_time_fall_into_their_buckets():
    for seconds in (0.005, 0.25, 0.25, 8.0):
        ended("processed", NOW + timedelta(seconds=30), seconds=seconds)

    minutes.roll_up(NOW)

    buckets = {latency.bucket_of(seconds) for seconds in (0.005, 0.25, 8.0)}
    assert row().calls == {**dict.fromkeys(buckets, 1), latency.bucket_of(0.25): 2}
    assert row().waits == {latency.bucket_of(0.5): 4}
    assert row().workers == 1


def test_outside_answer_or_act_by_hand_adds_no_call_time():
    at = NOW + timedelta(seconds=1)
    ended("processed", at, seconds=3600, answered="callback")
    ended("expired", at, seconds=3600, fault={"code": "unanswered"})
    ended("processed", at, by_hand=True)

    minutes.roll_up(NOW)

    assert (row().counts, row().calls) == ({"ok": 1, "expired": 1}, {})


def test_a_row_of_before_without_its_kind_counts_as_permanent():
    ended("refused", NOW, fault={"code": "x", "message": "y"})
    ended("refused", NOW, fault={"kind": "refused", "code": "x"})

    minutes.roll_up(NOW)

    assert counts() == {"toy.alpha": {"permanent": 1, "refused": 1}}


def test_only_what_lies_in_the_minute_counts():
    ended("processed", NOW - timedelta(microseconds=1))
    ended("processed", NOW)
    ended("processed", NOW + MINUTE - timedelta(microseconds=1))
    ended("processed", NOW + MINUTE)

    minutes.roll_up(NOW)

    assert counts() == {"toy.alpha": {"ok": 2}}


def test_a_row_that_was_committed_late_is_found_behind_younger_ones():
    for place in range(5):
        ended("processed", NOW + timedelta(seconds=70 + place))
    ended("processed", NOW + timedelta(seconds=30))

    minutes.roll_up(NOW)

    assert counts() == {"toy.alpha": {"ok": 1}}


@pytest.mark.parametrize("near", [1, 3, 10_000])
def test_a_minute_is_found_among_many_others(near, monkeypatch):
    monkeypatch.setattr(minutes, "NEAR_ROWS", near)
    for place in range(60):
        ended("processed", NOW + place * timedelta(seconds=50))

    for place in range(50):
        minutes.roll_up(NOW + place * MINUTE)

    by_minute = [row(NOW + place * MINUTE).counts["ok"] for place in range(50)]
    assert sum(by_minute) == 60
    assert set(by_minute) == {1, 2}


def test_what_was_under_way_together_is_found_on_both_sides(monkeypatch):
    monkeypatch.setattr(minutes, "NEAR_ROWS", 1)
    ours = (5, 20, 50)
    # By their ids: older rows behind one of ours, and younger ones before another.
    for second in (-300, -300, -300, 5, -10, -10, -10, 20, 65, 65, 65, 50, 200, 200, 200):
        ended("processed", NOW + timedelta(seconds=second))

    minutes.roll_up(NOW)

    assert counts() == {"toy.alpha": {"ok": len(ours)}}


def test_twice_comes_to_the_same_row(wire):
    ended("processed", NOW)
    minutes.roll_up(NOW)
    before = list(Minute.objects.values())

    minutes.roll_up(NOW)
    assert list(Minute.objects.values()) == before

    ended("failed", NOW + timedelta(seconds=2))
    minutes.roll_up(NOW)
    assert Minute.objects.get().pk == before[0]["id"]
    assert row().counts == {"ok": 1, "transient": 1}


def test_longer_spans_are_the_sums_of_their_minutes():
    for place in (0, 9, 10, 59, 60):
        ended("processed", NOW + place * MINUTE, seconds=1 + place)
        minutes.roll_up(NOW + place * MINUTE)

    minutes.sum_up_around([NOW + place * MINUTE for place in (0, 10, 59, 60)])

    def ok(span: Span, **after: int) -> int:
        summed = row(NOW + timedelta(**after), span)
        assert summed.counts["ok"] == sum(summed.calls.values())
        return summed.counts["ok"]

    assert ok(Span.TEN_MINUTES) == 2
    assert ok(Span.TEN_MINUTES, minutes=10) == 1
    assert ok(Span.HOUR) == 4
    assert ok(Span.HOUR, hours=1) == 1


def test_nothing_happened_is_no_row():
    assert minutes.roll_up(NOW) == 0
    assert not Minute.objects.exists()


def test_a_sweep_asks_for_it_once_in_half_a_minute(wire, monkeypatch):
    asked: list[datetime] = []

    def run_for(clock: Clock, seconds: int) -> int:
        asked.clear()
        for _ in range(seconds // 2):
            clock.advance(seconds=2)
            supervisor.sweep()
        return len(asked)

    with frozen_clock(NOW) as clock:
        monkeypatch.setattr(wake_ups.KEEP_HEALTH, "send", lambda: asked.append(clock.now))
        supervisor.sweep()
        assert len(asked) == 1
        assert run_for(clock, 28) == 0
        assert run_for(clock, 60) == 2


@pytest.mark.parametrize("text", ["***-03-01T12:00:00+00:00", "2026-13-01T12:00:00", "***"])
def test_a_row_with_an_erased_instant_counts_without_its_duration(text):
    ended("processed", NOW + timedelta(seconds=1))
    ended("processed", NOW + timedelta(seconds=2), started_at=text)
    ended("expired", NOW + timedelta(seconds=3), complete_by=text)

    minutes.roll_up(NOW)

    assert row().counts == {"ok": 2, "expired": 1}
    assert sum(row().calls.values()) == 1


def test_a_minute_that_cannot_be_rolled_up_holds_up_no_other(monkeypatch):
    real = minutes.roll_up

    def roll_up(minute: datetime) -> int:
        if minute == NOW:
            raise DataError("invalid input syntax")
        return real(minute)

    monkeypatch.setattr(minutes, "roll_up", roll_up)
    ended("processed", NOW + MINUTE + timedelta(seconds=1))

    assert health.run(NOW + 3 * MINUTE, seconds=30)

    assert row(NOW + MINUTE).counts == {"ok": 1}
    assert Alert.objects.get().params["row"] == f"minute {NOW}"
