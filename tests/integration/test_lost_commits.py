"""A database that lost commits says so: claiming holds until somebody has looked."""

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from orders import numbers
from tests.alerts import text_of
from tests.integration.conftest import NOW, claim, only
from tests.programs import said
from workers import supervisor
from workers.celery import hooks
from workers.client.submission import submit
from workers.exceptions import StateError
from workers.models import Alert, Hold, Installation, Journal, Lease
from workers.ops.doctor import agents
from workers.ops.doctor import database as probes
from workers.store import alert_resolution
from workers.store.db import dialect
from workers.store.expire import expire_claims
from workers.store.flow import holds
from workers.store.operate import after_restore, lost_commits
from workers.testing import frozen_clock

pytestmark = pytest.mark.postgresql


def was(**facts: Any) -> Installation:
    """Leave the row as it was before a failover or a restore; return it."""
    lost_commits.look(NOW)
    Installation.objects.update(**facts)
    return Installation.objects.get()


def test_the_first_look_keeps_where_the_database_is_and_holds_nothing():
    assert Installation.objects.get().place == ""
    assert lost_commits.look(NOW) is None
    row = Installation.objects.get()
    assert (row.timeline, row.looked_at) == (1, NOW)
    system, _, number = row.place.partition(":")
    assert system.isdigit()
    assert number.isdigit()
    assert lost_commits.look() is None
    assert not Hold.objects.exists()


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({"timeline": 7}, "timeline"),
        ({"place": "1:2"}, "moved"),
        ({"place": "1:2", "is_synchronous": True}, "moved"),
    ],
)
def test_claims_are_held_and_operators_told_once(facts, why):
    before = was(**facts)
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)

    assert lost_commits.look(NOW) == why
    assert lost_commits.look(NOW) is None

    assert holds.current() == {("everything", "")}
    assert Hold.objects.get().began_by == lost_commits.ACTOR
    assert claim(NOW) == []
    assert only(process, "one").state == "pending"
    (alert,) = Alert.objects.all()
    assert (alert.code, alert.times) == ("commits_lost", 1)
    assert "Nothing is claimed" in text_of(alert)
    # What its former self, or the database that it is a copy of, sends is not its own.
    assert (Installation.objects.get().id == before.id) == (why == "timeline")


def test_a_standby_that_confirmed_every_commit_lost_none():
    was(timeline=7, is_synchronous=True)
    assert lost_commits.look() is None
    assert not Hold.objects.exists()
    row = Installation.objects.get()
    assert (row.timeline, row.is_synchronous) == (1, False)


def test_numbers_of_lost_orders_are_not_given_out_again():
    before = numbers.next_order_number()
    was(timeline=7)
    assert lost_commits.look(NOW) == "timeline"
    assert numbers.next_order_number() > before + 9_000


@pytest.mark.parametrize("is_noticed", [False, True])
def test_a_planned_move_that_lost_nothing_holds_nothing(is_noticed):
    before = was(place="1:2")
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    if is_noticed:
        lost_commits.look(NOW)
        assert holds.current()
    out = said("sas", "restored", "--nothing-lost")

    assert "The newest journal row is " in out
    assert lost_commits.look() is None
    assert not holds.current()
    assert Alert.objects.exists() == is_noticed
    # Messages that are under way are still its own.
    assert (Installation.objects.get().id == before.id) != is_noticed
    assert not only(process, "one").is_in_doubt
    with pytest.raises(CommandError, match="--until goes with --since"):
        call_command("sas", "restored", "--nothing-lost", "--until", "now")


def test_an_end_of_all_claims_is_an_error_of_the_doctor():
    was(timeline=7)
    lost_commits.look(NOW)
    assert [str(finding.level) for finding in agents.may_be_claimed()] == ["error"]


def test_what_an_operator_holds_already_stays_the_operator_s():
    was(timeline=7)
    holds.hold("everything", actor="ann", reason="a release", now=NOW)
    assert lost_commits.look(NOW) == "timeline"
    assert Hold.objects.get().began_by == "ann"
    assert Alert.objects.filter(code="commits_lost").exists()
    assert lost_commits.lift("bob", "restored") is False
    assert holds.current()


def test_the_sweep_looks_before_it_recovers_anything(monkeypatch):
    was(timeline=7)
    seen: list[bool] = []
    look = expire_claims.look

    def seen_look() -> expire_claims.SweepLook:
        seen.append(bool(holds.current()))
        return look()

    monkeypatch.setattr(expire_claims, "look", seen_look)
    supervisor.sweep()
    assert seen == [True]


def test_a_server_that_hides_its_timeline_holds_up_no_sweep(monkeypatch):
    def hidden() -> None:
        raise NotImplementedError("pg_walfile_name")

    monkeypatch.setattr(lost_commits, "_current_place", hidden)
    assert supervisor.sweep().had_lease
    (name,) = supervisor.FIRST
    assert "pg_walfile_name" in Lease.objects.get(name=name).error


def test_a_worker_looks_whenever_it_connects(monkeypatch):
    was(timeline=7)
    hooks._look_for_lost_commits(connection)
    assert holds.current()

    def fail() -> None:
        raise RuntimeError

    monkeypatch.setattr(lost_commits, "look", fail)
    hooks._look_for_lost_commits(connection)


class TestRestoredWhileRunning:
    def test_what_was_open_is_in_doubt_and_claims_made_since_hold(self):
        with frozen_clock(NOW) as clock:
            old = submit("toy_line", subject="Toy 1", input={})
            claim(NOW)
            clock.advance(seconds=5)
            since = NOW - timedelta(seconds=60)
            until = clock.now
            clock.advance(seconds=5)
            fresh = submit("toy_line", subject="Toy 2", input={})
            claim(clock.now)
            assert [only(one, "one").state for one in (old, fresh)] == ["processing"] * 2

            with pytest.raises(StateError, match="add --until"):
                after_restore.check_since(since)
            after_restore.check_since(since, until=until)
            wanted = after_restore.open_processes(since, 0, 10, until)
            assert wanted == [old.pk]
            after_restore.mark(wanted, since, actor="ann", until=until)

            assert only(old, "one").state == "pending"
            assert only(old, "one").is_in_doubt
            assert only(fresh, "one").state == "processing"
            assert not only(fresh, "one").is_in_doubt
            assert after_restore.open_processes(since, 0, 10, until) == []

    def test_a_claim_made_since_is_in_doubt_and_goes_on(self):
        with frozen_clock(NOW) as clock:
            process = submit("toy_line", subject="Toy 1", input={})
            until = clock.now + timedelta(seconds=1)
            clock.advance(seconds=5)
            claim(clock.now)
            since = NOW - timedelta(seconds=60)
            after_restore.mark([process.pk], since, actor="ann", until=until)
            step = only(process, "one")
            assert (step.state, step.is_in_doubt) == ("processing", True)

    @pytest.mark.parametrize("seconds", [-61, 1])
    def test_until_lies_between_since_and_now(self, seconds):
        with frozen_clock(NOW), pytest.raises(StateError, match="--until must lie between"):
            after_restore.check_since(
                NOW - timedelta(seconds=60), until=NOW + timedelta(seconds=seconds)
            )

    def test_the_command_lifts_the_hold_and_ends_the_alert(self):
        process = submit("toy_line", subject="Toy 1", input={})
        was(timeline=7)
        lost_commits.look()
        said = StringIO()
        since = dialect.read_clock() - timedelta(minutes=5)
        call_command("sas", "restored", "--since", since.isoformat(), "--until", "now", stdout=said)
        assert "Claims are held no more." in said.getvalue()
        assert not holds.current()
        assert only(process, "one").is_in_doubt
        (entry,) = Journal.objects.filter(event="restored", process=process)
        assert "until" in entry.detail
        alert_resolution.resolve_ended()
        assert not Alert.objects.filter(code="commits_lost", resolved_at=None).exists()

    def test_a_database_that_was_restored_elsewhere_is_not_held_afterwards(self):
        submit("toy_line", subject="Toy 1", input={})
        before = was(place="1:2")

        since = Journal.objects.latest("at").at
        call_command("sas", "restored", "--since", since.isoformat(), stdout=StringIO())

        assert lost_commits.look() is None
        assert not holds.current()
        # Messages of the original, which may be at work still, are not its own.
        assert Installation.objects.get().id != before.id
        alert_resolution.resolve_ended()
        assert not Alert.objects.filter(code="commits_lost", resolved_at=None).exists()

    def test_without_until_rows_that_are_newer_refuse_it_to_the_fraction(self):
        submit("toy_line", subject="Toy 1", input={})
        since = dialect.read_clock() - timedelta(minutes=5)
        newest = Journal.objects.latest("at").at
        with pytest.raises(CommandError, match="Give --since") as refused:
            call_command("sas", "restored", "--since", since.isoformat())
        assert newest.isoformat() in str(refused.value)


def test_the_doctor_warns_of_a_standby_that_confirms_nothing(monkeypatch):
    assert list(probes.a_failover_loses_nothing()) == []
    monkeypatch.setattr(probes.dialect, "fetch", lambda statement: [(1,)])
    monkeypatch.setattr(probes, "_setting", lambda name: "")
    (found,) = probes.a_failover_loses_nothing()
    assert found.level == "warning"
    monkeypatch.setattr(probes, "_setting", lambda name: "ANY 1 (*)")
    assert list(probes.a_failover_loses_nothing()) == []
