"""One row that nobody can read or write holds up no other, whatever works on many rows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.factories import AlertFactory, put
from tests.integration.conftest import NOW, claim, only
from workers import scheduler, supervisor
from workers.client.submission import submit
from workers.exceptions import SASError
from workers.models import Alert, Lease, Process, Step
from workers.store import duties, isolation, leases
from workers.store.db import dialect
from workers.store.duties import When
from workers.store.expire import expire_claims
from workers.store.locked import load
from workers.testing.agent_processes import CALL
from workers.wire import dispatch

LATER = NOW + timedelta(minutes=5)


def submitted(subject: str) -> Process:
    return submit("toy_line", subject=subject, input={}, now=NOW)


def flagged(subject: str) -> Process:
    """Submit a process whose step is in error, for the Scheduler to decide."""
    process = submitted(subject)
    put(
        Step.objects.filter(process=process, name="one"),
        state="error",
        not_before=None,
        failure_count=3,
        may_have_effect=True,
        on_failure="compensate",
        fault={"kind": "transient", "code": "x", "message": "m"},
        finished_at=NOW,
    )
    Process.objects.filter(pk=process.pk).update(
        state="processing", needs_decision=True, started_at=NOW
    )
    return process


def still(subject: str) -> Process:
    """Submit a process in which nothing goes on, though a step is ready."""
    process = submitted(subject)
    Step.objects.filter(process=process, name="one").update(
        state="processed", not_before=None, result={}, finished_at=NOW
    )
    Process.objects.filter(pk=process.pk).update(state="processing", started_at=NOW)
    return process


def spoil(process: Process, **columns: Any) -> None:
    put(Step.objects.filter(process=process, name="one"), **columns)


@pytest.mark.parametrize("place", range(3))
def test_halves_leave_a_row_that_cannot_be_used_and_do_the_others(place):
    left: list[int] = []

    def work(rows: Any) -> list[int]:
        if place in rows:
            raise ValueError("unreadable")
        return list(rows)

    parts = isolation.apart(range(3), work, lambda row, error: left.append(row))

    assert left == [place]
    assert sorted(row for part in parts for row in part) == [n for n in range(3) if n != place]


@pytest.mark.parametrize("bad", [{"undo": {}}, {"undo": {"name": "u"}}], ids=repr)
def test_a_process_that_cannot_be_decided_holds_up_nothing_of_a_look(wire, bad):
    poison, healthy = flagged("poison"), flagged("healthy")
    spoil(poison, **bad)
    at_rest = still("still")
    submitted("due")
    wire.drop_all()

    scheduler.advance(LATER)

    healthy.refresh_from_db()
    assert not healthy.needs_decision
    assert [one.body for one in wire.of(dispatch.TAKE)] == [["sas.agents"]]
    assert only(at_rest, "two").state == "pending"
    assert Lease.objects.get(name=leases.POLL).performed_at is not None
    alert = Alert.objects.get(code="row_unusable")
    assert (alert.process_id, alert.params["row"]) == (poison.pk, f"process {poison.pk}")


def test_a_poll_is_performed_though_decisions_fail(wire, monkeypatch):
    at_rest = still("still")
    flagged("flagged")

    def fail(*given: Any) -> list[int]:
        raise SASError("a statement of its own")

    monkeypatch.setattr("workers.scheduler.look._flagged", fail)
    with pytest.raises(SASError, match="of its own"):
        scheduler.advance(LATER)

    assert only(at_rest, "two").state == "pending"


def test_a_process_that_stands_still_and_cannot_be_carried_on_holds_up_no_other(wire):
    poison, healthy = still("poison"), still("healthy")
    spoil(poison, state="error", undo={}, on_failure="compensate", result=None)
    Process.objects.filter(pk=poison.pk).update(state="compensating", outcome="compensated")

    scheduler.advance(LATER)

    assert only(healthy, "two").state == "pending"


def fails_for(process: Process, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``load``'s reader, as it is with a row of ``process`` that it cannot read."""

    def read(*given: Any, **options: Any) -> Any:
        processes = real(*given, **options)
        if any(locked.process.id == process.pk for locked in processes):
            raise KeyError("agent")
        return processes

    return read


def test_a_step_that_cannot_be_claimed_leaves_its_turn_for_a_while(wire, monkeypatch):
    processes = [submitted(f"Toy {number}") for number in range(5)]
    poison = processes[2]
    monkeypatch.setattr(load, "lock", fails_for(poison, load.lock))

    claims = claim()

    assert {one.process_id for one in claims} == {one.pk for one in processes} - {poison.pk}
    assert Alert.objects.get(code="row_unusable").process_id == poison.pk
    assert claim() == []
    assert only(poison, "one").not_before > NOW


@pytest.mark.parametrize("duty", ["expire", "escalate"])
def test_a_step_that_the_sweep_cannot_read_holds_up_no_other(wire, monkeypatch, duty):
    poison, healthy = submitted("poison"), submitted("healthy")
    claim()
    wire.drop_all()
    late = NOW + timedelta(hours=1)
    if duty == "escalate":
        Step.objects.filter(name="one").update(deferral={}, escalate_at=NOW)
    monkeypatch.setattr(load, "lock_only", fails_for(poison, load.lock_only))

    if duty == "expire":
        assert expire_claims.expire("supervisor", late).reset == 1
        assert only(healthy, "one").failure_count == 1
    else:
        assert expire_claims.escalate("supervisor", late) == 1
        assert only(healthy, "one").escalate_at is None

    alert = Alert.objects.get(code="row_unusable")
    assert (alert.process_id, alert.step_id) == (poison.pk, only(poison, "one").pk)


def test_an_input_that_cannot_be_read_ends_its_own_step_only(wire):
    poison = submitted("poison")
    others = [submitted(f"Toy {number}") for number in range(3)]
    # As an earlier version took it.
    dialect.execute(
        "UPDATE workers_process SET input = %s WHERE id = %s",
        ['{"n": -1' + "0" * 4299 + "}", poison.pk],
    )

    wire.run_until_idle()

    assert only(poison, "one").state == "error"
    assert only(poison, "one").fault["code"] == "request_builder_failed"
    for process in others:
        assert set(wire.states(process).values()) == {"processed"}
    assert not wire.of(CALL)


@pytest.mark.parametrize("number", [-(10**4299), 10**4300], ids=["below zero", "above"])
def test_an_input_that_could_not_be_read_back_is_refused(number):
    with pytest.raises((ValueError, SASError)):
        submit("toy_line", subject="poison", input={"n": number}, now=NOW)

    assert not Process.objects.exists()


def junk(process: Process) -> None:
    """Make what every duty may read such as no version of this code writes it."""
    spoil(process, undo={}, fault={"kind": "from the future"}, fallbacks=[{"who": 1}])
    at, alert = dialect.instant_text(NOW), "INSERT INTO workers_alert (cause, code, message,"
    for number, params in enumerate(["[1]", '{"says": 3}', '{"says": [{}], "duty": []}', "null"]):
        dialect.execute(
            f"{alert} params, process_id, raised_at, last_raised_at, times, comment)"
            " VALUES (%s, %s, '', %s, %s, %s, %s, 1, '')",
            [f"junk:{number}", "process_error", params, process.pk, at, at],
        )


@pytest.mark.parametrize("when", When)
def test_every_registered_duty_does_its_work_beside_a_row_that_it_cannot_read(wire, when):
    junk(flagged("poison"))
    healthy = flagged("healthy")
    AlertFactory(cause="process_error:healthy", params={}, process=healthy, raised_at=NOW)

    assert duties.perform(duties.registered(when), "test") == []
    assert supervisor.sweep().had_lease
