"""The registry of duties: in order, each by itself, and one name for one duty."""

import pytest

from workers import supervisor
from workers.models import Lease
from workers.scheduler import look
from workers.store import duties, leases
from workers.store.duties import When, duty, perform, registered
from workers.store.leases import HeldLease

performed: list[str] = []


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    performed.clear()
    monkeypatch.setattr(duties, "_registered", {})


def note(name: str, when: When = When.SWEEP) -> None:
    """Register a duty that notes the name of the lease it is given."""
    duty(name, when)(lambda lease: performed.append(lease.name))


@pytest.mark.usefixtures("empty")
class TestRegistry:
    @pytest.mark.django_db
    def test_one_that_raises_holds_up_no_other_and_none_changes_its_place(self) -> None:
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

    @pytest.mark.django_db
    def test_what_another_performs_is_left_to_it(self) -> None:
        note("wash")
        note("dry")
        leases.acquire("wash", "another", 5)
        assert perform(registered(When.SWEEP), "me") == []
        assert performed == ["dry"]

    def test_each_belongs_to_its_moment(self) -> None:
        note("wash")
        note("look", When.POLL)
        assert list(registered(When.SWEEP)) == ["wash"]
        assert list(registered(When.POLL)) == ["look"]

    def test_one_may_come_before_another(self) -> None:
        for name in ("wash", "dry", "stack"):
            note(name)
        duty("rinse", When.SWEEP, before="dry")(lambda lease: None)
        assert list(registered(When.SWEEP)) == ["wash", "rinse", "dry", "stack"]

    def test_duty_cannot_be_registered_before_unknown_duty(self) -> None:
        with pytest.raises(ValueError, match="dry"):
            duty("rinse", When.SWEEP, before="dry")(lambda lease: None)
        assert registered(When.SWEEP) == {}

    def test_two_of_one_name_are_refused(self) -> None:
        note("wash")
        with pytest.raises(ValueError, match="'wash' is registered already"):
            note("wash", When.POLL)
        assert registered(When.POLL) == {}


def test_alerts_are_collected_before_they_are_closed() -> None:
    sweep = list(registered(When.SWEEP))
    raised, collected, closed = map(
        sweep.index, ("breaker_alerts", leases.INCIDENT_COLLECTION, "alert_closing")
    )
    assert raised < collected < closed < sweep.index(leases.INCIDENT_REFRESH)


def test_no_registered_duty_has_the_name_of_the_engines_own() -> None:
    own = {leases.SWEEP, leases.POLL, leases.JOBS, *supervisor.FIRST, *look._own_duties(None)}
    assert not own & duties._registered.keys()
