"""What is over for long goes, in portions; whatever somebody may still need stays whole."""

import io
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import override_settings

from orders.models import DeadLetter
from tests.factories import AlertFactory
from tests.integration.conftest import ENDED as NOW
from workers.desk import retention as desk_rows
from workers.desk.models import BulkItem, BulkJob, Incident, Note
from workers.models import Alert, Journal, Process, Sink, Step
from workers.operate import retention
from workers.ops import invariants
from workers.store import leases, old_processes, old_rows
from workers.store.flow import holds
from workers.wire import dispatch

LATER = NOW + timedelta(days=100)


@pytest.fixture(autouse=True)
def a_month() -> Any:
    with override_settings(SAS_KEEP_JOURNAL_DAYS=30):
        yield


def rows() -> dict[str, list[dict[str, Any]]]:
    tables = (Process, Step, Journal, Sink, Alert, DeadLetter)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in tables}


def prune(limit: int = 200, now: Any = LATER) -> list[int]:
    return list(old_processes.JOURNALS.prune(limit, now))


def sink(process: Process, **columns: Any) -> Sink:
    sequence = process.sequence
    return Sink.objects.create(
        **{
            "process": process,
            "kind": "queue",
            "address": "replies.acme.one",
            "cursor": sequence,
            "last": sequence,
            "state": "ended",
            "next_try_at": NOW,
            **columns,
        }
    )


def alert(process: Process | None, **columns: Any) -> Alert:
    return Alert.objects.create(
        **{
            "cause": "c",
            "code": "step_skipped",
            "process": process,
            "raised_at": NOW,
            "last_raised_at": NOW,
            **columns,
        }
    )


def test_prune_keeps_process_and_steps_and_deletes_journal_and_sinks(ended):
    process = ended()
    sink(process)
    young = ended(finished_at=LATER - timedelta(days=29))
    before = rows()

    assert prune() == [1]

    after = rows()
    assert after["Step"] == before["Step"]
    assert after["Sink"] == []
    assert after["Process"] == [
        {**row, "pruned_at": LATER} if row["id"] == process.pk else row for row in before["Process"]
    ]
    was = len([row for row in before["Journal"] if row["process_id"] == process.pk])
    entry = Journal.objects.get(process=process)
    assert (entry.event, entry.detail, entry.sequence, entry.step) == (
        "pruned",
        {"rows": was},
        None,
        None,
    )
    assert was > 5
    assert Journal.objects.filter(process=young).count() == was
    assert invariants.violations() == []
    assert prune() == [0]


@pytest.mark.parametrize("state", ["compensated", "cancelled"])
def test_an_undone_process_is_pruned_as_well(ended, state):
    ended(state=state, outcome=state)

    assert prune() == [1]


@pytest.mark.parametrize(
    "reason", ["young", "in error", "compensating", "an open alert", "an untold sink", "given up"]
)
def test_journal_pruning_spares_young_open_alerted_or_untold_process(
    ended: Any, reason: str
) -> None:
    process = ended()
    match reason:
        case "young":
            Process.objects.update(finished_at=LATER - timedelta(days=30))
        case "in error":
            Process.objects.update(state="error", finished_at=None)
        case "compensating":
            Process.objects.update(state="compensating", outcome="cancelled", finished_at=None)
        case "an open alert":
            alert(process)
        case "an untold sink":
            sink(process, cursor=1, state="open")
        case "given up":
            sink(process, cursor=1, state="undeliverable")
    before = rows()

    assert sum(prune()) == 0

    assert rows() == before
    is_held = reason in ("an open alert", "an untold sink", "given up")
    journals = old_processes.JOURNALS
    assert (journals.count(LATER), journals.count(LATER, are_held_back=True)) == (0, int(is_held))


def test_once_it_is_dealt_with_it_goes(ended):
    process = ended()
    alert(process, acknowledged_at=NOW)
    sink(process)

    journals = old_processes.JOURNALS
    assert (journals.count(LATER), journals.count(LATER, are_held_back=True)) == (1, 0)
    assert prune() == [1]


def test_longest_retention_setting_keeps_the_journal(ended, settings):
    del settings.SAS_KEEP_JOURNAL_DAYS
    ended()

    assert prune(now=NOW + timedelta(days=36_000)) == [0]


def test_a_portion_is_a_transaction_and_the_next_round_goes_on_behind_it(ended):
    leases.is_due(leases.PRUNE, 0)
    processes = [ended(finished_at=NOW + timedelta(seconds=n)) for n in range(5)]
    for process in processes[:2]:
        alert(process, cause=str(process.pk))

    portions = old_processes.JOURNALS.prune(2, LATER)
    assert next(portions) == 0
    portions.close()

    # The first of those that stay is not looked at again before the end was reached.
    assert prune(2) == [1, 2, 0]
    kept = Process.objects.filter(pruned_at=None).values_list("pk", flat=True)
    assert sorted(kept) == [process.pk for process in processes[:2]]
    assert leases.cursor(leases.PRUNE) == 0


def test_processes_that_ended_at_one_instant_are_told_apart(ended):
    for _ in range(5):
        ended()

    assert prune(2) == [2, 2, 1]


def test_prune_passes_over_kept_processes_that_ended_at_one_instant(ended):
    for number in range(3):
        alert(ended(), cause=str(number))

    assert list(islice(old_processes.JOURNALS.prune(2, LATER), 5)) == [0, 0]


def test_alerts_go_once_they_are_acknowledged_old_and_no_error_needs_them(ended):
    old, young = LATER - timedelta(days=91), LATER - timedelta(days=90)
    stuck = ended(state="error", finished_at=None)
    gone = [alert(None, acknowledged_at=old), alert(ended(), acknowledged_at=old)]
    kept = [
        alert(None, acknowledged_at=young),
        alert(None, cause="open"),
        alert(stuck, acknowledged_at=old),
    ]
    assert old_rows.ALERTS.count(LATER) == len(gone)

    assert list(old_rows.ALERTS.prune(1, LATER)) == [1, 1, 0]

    assert list(Alert.objects.order_by("pk")) == kept


def test_what_is_reopened_while_it_is_pruned_stays(monkeypatch):
    reopened = alert(None)
    monkeypatch.setattr(old_rows.OldRows, "_next", lambda *_args: [reopened.pk])

    assert list(old_rows.ALERTS.prune(10, LATER)) == [0]

    assert list(Alert.objects.all()) == [reopened]


def test_a_job_goes_after_all_of_its_items(ended):
    job = BulkJob.objects.create(verb="cancel", state="done", created_at=NOW, ended_at=NOW)
    for _ in range(3):
        BulkItem.objects.create(job=job, process=ended(), sequence=1)

    portions = desk_rows.JOBS.prune(2, LATER)
    assert next(portions) == 0
    assert (BulkItem.objects.count(), BulkJob.objects.count()) == (1, 1)
    assert list(portions) == [1]

    assert (BulkItem.objects.count(), BulkJob.objects.count()) == (0, 0)


def test_old_journal_rows_of_no_process_go(ended):
    process = ended(finished_at=LATER)
    holds.hold("agent", "toy.alpha", actor="operator:o", reason="r", now=NOW)
    holds.lift("agent", "toy.alpha", actor="operator:o", reason="r", now=LATER)
    of_process = Journal.objects.filter(process=process).count()

    assert list(old_rows.FLOW_JOURNAL.prune(10, LATER)) == [1]

    assert list(Journal.objects.filter(process=None).values_list("event", flat=True)) == ["lifted"]
    assert Journal.objects.filter(process=process).count() == of_process


def letter(**columns: Any) -> DeadLetter:
    return DeadLetter.objects.create(received_at=NOW, body=b"x", **columns)


def test_resolved_dead_letters_and_visits_that_are_over_go():
    old, young = LATER - timedelta(days=91), LATER - timedelta(days=89)
    for state in ("replayed", "discarded"):
        letter(state=state, resolved_at=old)
    kept = [letter(), letter(state="discarded", resolved_at=young)]
    Session.objects.create(session_key="over", expire_date=LATER - timedelta(seconds=1))
    Session.objects.create(session_key="open", expire_date=LATER + timedelta(days=1))

    done = retention.prune(now=LATER, batch=1)

    assert done is not None
    assert (done["dead letters"], done["sessions"]) == (2, 1)
    assert list(DeadLetter.objects.order_by("pk")) == kept
    assert [session.pk for session in Session.objects.all()] == ["open"]


def test_a_round_ends_when_its_time_is_up_and_the_next_goes_on(ended):
    for _ in range(3):
        ended()

    for _ in range(3):
        done = retention.prune(["journals"], seconds=0, batch=1, now=LATER)
        assert done == {"journals": 1}
    assert retention.prune(["journals"], now=LATER) == {"journals": 0}


def test_two_do_not_prune_at_once(ended, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    ended()
    assert leases.acquire(leases.PRUNE, "somebody", retention.LEASE_SECONDS)
    before = rows()

    assert retention.prune(now=LATER) is None
    with pytest.raises(CommandError, match="Another process"):
        call_command("sas", "prune")

    assert rows() == before


def test_the_command_goes_on_once_one_that_was_killed_has_lost_its_lease(ended, monkeypatch):
    ended(finished_at=NOW - timedelta(days=3650))
    assert leases.acquire(leases.PRUNE, "killed", retention.LEASE_SECONDS)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            leases.release(leases.PRUNE, "killed")

    monkeypatch.setattr("time.sleep", sleep)

    assert run("--only", "journals") == "journals: 1 pruned\n"
    assert len(waited) == 3


def test_a_round_that_is_cut_off_asks_for_the_next_at_once(ended, wire, monkeypatch):
    from workers import tasks
    from workers.runtime import db_connections

    monkeypatch.setattr(db_connections, "close_old_connections", lambda: None)
    for _ in range(2):
        ended(finished_at=NOW - timedelta(days=3650))
    rounds = iter([0.0, 3600.0])
    real = retention.prune
    monkeypatch.setattr(retention, "prune", lambda: real(seconds=next(rounds), batch=1))

    tasks.prune()
    assert [message.queue for message in wire.of(dispatch.PRUNE)] == [dispatch.REPORTS_QUEUE]
    assert Process.objects.filter(pruned_at=None).count() == 1

    wire.drop_all()
    tasks.prune()
    assert wire.of(dispatch.PRUNE) == []
    assert Process.objects.filter(pruned_at=None).count() == 0


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("sas", "prune", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_a_dry_run_counts_and_changes_nothing(ended):
    ended()
    alert(None, acknowledged_at=NOW - timedelta(days=365))
    before = rows()

    text = run("--dry-run")

    # NOW lies years back, or ahead, of the real clock: what counts here is the command's own.
    assert "alerts: 1 would go" in text
    assert "journals: " in text
    assert "alerts" not in run("--dry-run", "--only", "journals")
    assert rows() == before


def test_the_command_prunes_until_nothing_is_left(ended):
    for _ in range(3):
        ended(finished_at=NOW - timedelta(days=3650))

    assert run("--only", "journals", "--batch", "1") == "journals: 3 pruned\n"
    assert Process.objects.filter(pruned_at=None).count() == 0


@pytest.mark.parametrize("batch", ["0", "-1", "5001"])
def test_a_batch_out_of_bounds_is_refused(batch):
    with pytest.raises(CommandError, match="1 to 5000"):
        run("--batch", batch)


def test_the_periodic_task_prunes(ended, monkeypatch):
    from workers import tasks
    from workers.runtime import db_connections

    # It would close the connection of the test, and with it the test's transaction.
    monkeypatch.setattr(db_connections, "close_old_connections", lambda: None)
    ended(finished_at=NOW - timedelta(days=3650))

    tasks.prune()

    assert Process.objects.filter(pruned_at=None).count() == 0


def test_incidents_go_once_they_were_resolved_long_ago_and_their_alerts_are_gone():
    known = {"code": "restored", "severity": 1, "opened_at": NOW, "last_at": NOW}
    over = {"state": "resolved", "resolved_at": NOW}
    gone = [Incident.objects.create(key=f"gone{n}", **known, **over) for n in range(2)]
    Note.objects.create(incident=gone[0], text="seen", at=NOW)
    kept = [
        Incident.objects.create(key="open", **known),
        Incident.objects.create(key="late", **known, state="resolved", resolved_at=LATER),
        Incident.objects.create(key="told", **known, **over),
    ]
    AlertFactory(cause="x", code="restored", raised_at=NOW, group_id=kept[2].pk)
    assert desk_rows.INCIDENTS.count(NOW) == 0
    assert desk_rows.INCIDENTS.count(LATER) == 2
    assert sum(desk_rows.INCIDENTS.prune(1, LATER)) == 2
    assert list(Incident.objects.order_by("pk")) == kept
    assert not Note.objects.exists()
