"""The registry of duties: in order, each by itself, and one name for one duty."""

from functools import partial

import pytest

from tests.integration.conftest import NOW
from workers import supervisor
from workers.desk import states
from workers.models import Alert, Lease
from workers.scheduler import look
from workers.store import alerts, duties, leases
from workers.store.duties import When, duty, perform, registered
from workers.store.leases import HeldLease
from workers.testing import frozen_clock

performed: list[str] = []


@pytest.fixture
def empty(monkeypatch) -> None:
    performed.clear()
    monkeypatch.setattr(duties, "_registered", {})


def note(name: str, when: When = When.SWEEP) -> None:
    """Register a duty that notes the name of the lease it is given."""
    duty(name, when)(lambda lease: performed.append(lease.name))


@pytest.mark.usefixtures("empty")
class TestRegistry:
    def test_one_that_raises_holds_up_no_other_and_none_changes_its_place(self):
        note("wash")

        @duty("break", When.SWEEP)
        def fail(lease: HeldLease) -> None:
            performed.append(lease.name)
            raise RuntimeError("a cup")

        note("dry")

        assert perform(registered(When.SWEEP), "me") == ["break"]

        assert performed == ["wash", "break", "dry"]
        (failure,) = leases.failing(least=1)
        assert (failure.name, failure.error) == ("break", "RuntimeError: a cup")
        assert Lease.objects.filter(performed_at__isnull=False).count() == 2

    def test_what_another_performs_is_left_to_it(self):
        note("wash")
        note("dry")
        leases.acquire("wash", "another", 5)
        assert perform(registered(When.SWEEP), "me") == []
        assert performed == ["dry"]

    def test_each_belongs_to_its_moment(self):
        note("wash")
        note("look", When.POLL)
        assert list(registered(When.SWEEP)) == ["wash"]
        assert list(registered(When.POLL)) == ["look"]

    def test_one_may_come_before_another(self):
        for name in ("wash", "dry", "stack"):
            note(name)
        duty("rinse", When.SWEEP, before="dry")(lambda lease: None)
        assert list(registered(When.SWEEP)) == ["wash", "rinse", "dry", "stack"]

    def test_duty_cannot_be_registered_before_unknown_duty(self):
        with pytest.raises(ValueError, match="dry"):
            duty("rinse", When.SWEEP, before="dry")(lambda lease: None)
        assert registered(When.SWEEP) == {}

    def test_two_of_one_name_are_refused(self):
        note("wash")
        with pytest.raises(ValueError, match="'wash' is registered already"):
            note("wash", When.POLL)
        assert registered(When.POLL) == {}


def test_alerts_are_collected_before_they_are_closed():
    sweep = list(registered(When.SWEEP))
    raised, collected, closed = map(
        sweep.index, ("breaker_alerts", states.INCIDENT_COLLECTION, "alert_closing")
    )
    assert raised < collected < closed < sweep.index(states.INCIDENT_REFRESH)


def test_no_registered_duty_has_the_name_of_the_engines_own():
    own = {leases.SWEEP, leases.POLL, states.JOBS, *supervisor.FIRST, *look._own_duties(None)}
    assert not own & duties._registered.keys()


def test_at_rest_a_duty_is_performed_every_ten_seconds_and_at_once_for_news(monkeypatch):
    monkeypatch.setattr(duties, "REST_SECONDS", 10.0)
    done: list[str] = []
    perform_two = partial(
        perform, {name: lambda lease: done.append(lease.name) for name in ("one", "two")}, "test"
    )
    with frozen_clock(NOW) as clock:
        perform_two()
        clock.advance(seconds=9)
        perform_two()
        assert done == ["one", "two"]
        alerts.raise_alert("row_unusable", params={"text": "x"}, subject="1")
        perform_two()
        assert done == ["one", "two"] * 2
        Alert.objects.update(resolved_at=clock.now)
        perform_two()
        assert done == ["one", "two"] * 2
        clock.advance(seconds=10)
        perform_two()
        assert done == ["one", "two"] * 3


def test_a_duty_that_failed_does_not_rest(monkeypatch):
    monkeypatch.setattr(duties, "REST_SECONDS", 10.0)

    def fail(_lease: HeldLease) -> None:
        raise ValueError

    assert [perform({"one": fail}, "test") for _ in range(3)] == [["one"]] * 3
