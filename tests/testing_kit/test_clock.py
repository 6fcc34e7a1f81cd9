"""The frozen clock: one place, and everything follows."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.testing_kit.conftest import NOON
from workers import scheduler, supervisor
from workers.client.submission import submit
from workers.definitions.agent import Deadline
from workers.models import Alert, Flow, Journal, Lease, Process, Step
from workers.ops import invariants
from workers.store import leases
from workers.store.db import dialect
from workers.testing import frozen_clock
from workers.testing.agent_processes import CALL
from workers.wire import dispatch


def database_instant() -> datetime | None:
    """Return the present instant as a statement sees it."""
    moment, params = dialect.clock(None)
    return dialect.instant(dialect.fetch(f"SELECT {moment}", params)[0][0])


def test_statements_and_python_see_the_same_standing_instant(clock):
    assert (dialect.read_clock(), database_instant()) == (NOON, NOON)

    clock.advance(hours=1, seconds=0.25)

    later = NOON + timedelta(hours=1, seconds=0.25)
    assert (clock.now, dialect.read_clock(), database_instant()) == (later, later, later)


def test_an_instant_that_is_given_beats_the_frozen_one(clock):
    given = NOON - timedelta(days=1)

    moment, params = dialect.clock(given)

    assert dialect.read_clock(given) == given
    assert dialect.instant(dialect.fetch(f"SELECT {moment}", params)[0][0]) == given


def test_the_real_clock_is_back_after_the_block_and_the_outer_one_after_an_inner():
    with frozen_clock(NOON):
        with frozen_clock(NOON + timedelta(days=1)):
            assert dialect.read_clock() == NOON + timedelta(days=1)
        assert dialect.read_clock() == NOON
    assert abs(dialect.read_clock() - datetime.now(UTC)) < timedelta(minutes=1)


def test_without_an_instant_it_stops_at_the_next_second(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    with frozen_clock() as clock:
        assert abs(clock.now - datetime.now(UTC)) < timedelta(minutes=1)
        assert clock.now.microsecond == 0
        wire.run_until_idle()
    assert Process.objects.get(pk=process.pk).state == "processed"


def test_instants_of_any_zone_are_the_same_instant(clock):
    two_hours_east = timezone(timedelta(hours=2))

    clock.travel_to(datetime(2026, 3, 1, 15, 0, tzinfo=two_hours_east))

    assert clock.now == NOON + timedelta(hours=1)
    assert database_instant() == NOON + timedelta(hours=1)


def test_time_does_not_go_back(clock):
    with pytest.raises(ValueError, match="does not go back"):
        clock.travel_to(NOON - timedelta(microseconds=1))
    assert dialect.read_clock() == NOON


def test_an_instant_without_a_zone_is_refused(clock):
    with pytest.raises(ValueError, match="time zone"):
        clock.travel_to(datetime(2027, 1, 1))
    with pytest.raises(ValueError, match="time zone"), frozen_clock(datetime(2027, 1, 1)):
        pass
    assert dialect.read_clock() == NOON


def test_a_clock_whose_block_is_over_stops_nothing_any_more():
    with frozen_clock(NOON) as clock:
        pass
    with pytest.raises(ValueError, match="over"):
        clock.advance(seconds=1)
    assert dialect.frozen_at is None


def test_deadlines_leases_and_polls_follow(wire, clock):
    process = submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    one = Step.objects.get(process=process, name="one")
    assert one.started_at == NOON
    assert one.complete_by == NOON + timedelta(seconds=30)

    assert not leases.is_due(leases.POLL, 5)
    clock.advance(seconds=5)
    assert leases.is_due(leases.POLL, 5)

    assert supervisor.sweep().had_lease
    clock.advance(seconds=1)
    assert Lease.objects.get(name=leases.SWEEP).performed_at == NOON + timedelta(seconds=5)
    assert leases.seconds_since(leases.SWEEP) == 1
    assert set(Journal.objects.values_list("at", flat=True)) == {NOON}


def test_the_breaker_and_its_alert_follow(wire, clock):
    Flow.objects.filter(agent="toy.alpha").update(
        unavailable_streak=10, opened_at=NOON, open_until=NOON + timedelta(seconds=30)
    )
    submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    assert wire.messages == []

    clock.advance(seconds=301)
    supervisor.sweep()
    assert list(Alert.objects.values_list("code", flat=True)) == ["breaker_open"]
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    assert len(wire.of(CALL)) == 1


def test_the_invariants_judge_by_it(wire, clock):
    submit("toy_line", subject="Toy 1", input={})
    scheduler.advance()
    wire.deliver_all(dispatch.TAKE)
    assert invariants.violations() == []

    clock.advance(minutes=10)

    assert [one.invariant for one in invariants.violations()] == ["nothing_is_forgotten"]


def test_an_agent_s_deadline_does_not_follow(clock):
    deadline = Deadline(30)

    clock.advance(hours=1)

    assert deadline.remaining() > 20
