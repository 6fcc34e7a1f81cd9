"""One row that cannot be written holds up no other of its batch, and hides none behind it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection

from tests.factories import put
from tests.integration.conftest import NOW, claim, only
from tests.integration.test_poison_rows import fails_for, flagged, submitted
from workers.client.submission import submit
from workers.models import Alert, Journal, Process, ReceivedWebhook, Sink, Step
from workers.notify import compose
from workers.operate import retention
from workers.rules.rows import NewSink
from workers.scheduler import look
from workers.store import old_processes, old_rows, sinks
from workers.store.claims import find_work, release
from workers.store.expire import expire_claims
from workers.store.locked import load
from workers.store.old_rows import OldRows

LATE = NOW + timedelta(hours=1)


def unusable() -> list[str]:
    """Return what could not be done to a row, by the alerts, in order."""
    alerts = Alert.objects.filter(code="row_unusable").order_by("pk")
    return [alert.params["duty"] for alert in alerts]


def refuse(poison: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that deletes rows, but not that one."""

    def delete(*given: Any) -> Any:
        if any(isinstance(ids, list | tuple) and poison in ids for ids in given):
            raise IntegrityError("still referred to")
        return real(*given)

    return delete


@pytest.mark.parametrize("duty", ["decide", "expire", "escalate"])
def test_many_rows_that_cannot_be_used_hide_none_behind_them(wire, monkeypatch, settings, duty):
    settings.SAS_SETTLE_BATCH = settings.SAS_SWEEP_BATCH = 3
    make = flagged if duty == "decide" else submitted
    poison, healthy = [make(f"poison {number}") for number in range(3)], make("healthy")
    if duty != "decide":
        claim()
    if duty == "escalate":
        Step.objects.filter(name="one").update(deferral={}, escalate_at=NOW)
    for process in poison:
        monkeypatch.setattr(load, "lock", fails_for(process, load.lock))
        monkeypatch.setattr(load, "lock_only", fails_for(process, load.lock_only))

    for _ in range(2):
        if duty == "decide":
            assert find_work.flagged(3, now=LATE)
            look._advance(find_work.flagged(3, now=LATE), "scheduler", LATE)
        elif duty == "expire":
            expire_claims.expire("supervisor", LATE)
        else:
            expire_claims.escalate("supervisor", LATE)

    assert unusable() == [duty] * 3
    row = only(healthy, "one")
    if duty == "decide":
        assert not Alert.objects.filter(process=healthy, code="row_unusable").exists()
        again = LATE + timedelta(minutes=2)
        assert find_work.flagged(9, now=again)[:3] == [process.pk for process in poison]
    else:
        assert (row.failure_count == 1) is (duty == "expire")
        assert row.escalate_at is None


@pytest.mark.parametrize("act", ["note", "release", "give up", "unbegun"])
def test_a_process_that_cannot_be_read_keeps_no_other_claim(wire, monkeypatch, act):
    poison, healthy = submitted("poison"), submitted("healthy")
    claims = claim()
    put(Step.objects.filter(name="one"), locked_by="worker-1/run1", effect="idempotent")
    monkeypatch.setattr(load, "lock", fails_for(poison, load.lock))

    if act == "note":
        facts = release.note_death("/run1", lambda name: True, "killed", NOW)
        assert [fact["subject"] for fact in facts] == ["healthy"]
    elif act == "release":
        assert release.release_unfinished("/run1", "worker", now=NOW) == 1
        assert release.release_unfinished("/run1", "worker", now=NOW) == 0
    elif act == "give up":
        assert release.uncalled(claims, "agent", "unknown here", NOW) == 1
    else:
        delivery = only(healthy, "one").delivery
        Step.objects.filter(name="one").update(delivery=delivery)
        assert release.unbegun(delivery, [], "agent", NOW) == 1

    assert unusable() == ["note" if act == "note" else "release"]


def test_a_journal_that_cannot_be_pruned_holds_up_no_other(ended, settings, monkeypatch):
    settings.SAS_KEEP_JOURNAL_DAYS = 30
    poison, healthy = ended(), ended()
    real = old_processes._delete_journals
    monkeypatch.setattr(old_processes, "_delete_journals", refuse(poison.pk, real))
    now = NOW + timedelta(days=60)

    assert sum(old_processes.JOURNALS.prune(200, now)) == 1

    healthy.refresh_from_db()
    poison.refresh_from_db()
    assert (healthy.pruned_at is not None, poison.pruned_at) == (True, None)
    assert Journal.objects.filter(process=poison, event="submitted").exists()
    assert unusable() == ["prune the journal of"]


def test_old_rows_that_cannot_be_deleted_end_the_round_without_them(monkeypatch):
    rows = [
        ReceivedWebhook.objects.create(provider="p", message_id=str(number), received_at=NOW)
        for number in range(5)
    ]
    bad = [row.pk for row in rows[:2]]
    real = OldRows._delete
    for pk in bad:
        real = refuse(pk, real)
    monkeypatch.setattr(OldRows, "_delete", real)

    assert sum(old_rows.WEBHOOKS.prune(2, NOW + timedelta(days=60))) == 3

    assert list(ReceivedWebhook.objects.order_by("pk").values_list("pk", flat=True)) == bad
    assert unusable() == ["prune"] * 2


def test_a_pruner_that_raises_holds_up_no_other(ended, settings, monkeypatch):
    settings.SAS_KEEP_JOURNAL_DAYS = 30
    process = ended()
    Process.objects.filter(pk=process.pk).update(finished_at=NOW - timedelta(days=60))

    # Registers those of the installed apps, before the registry is another.
    retention.pruners()
    first = retention.Pruner(
        "a", "rows of acme", (OldRows("acme", "", "", kept=lambda: {}["acme"]),)
    )
    monkeypatch.setattr(retention, "_pruners", {"a": first, **retention._pruners})

    with pytest.raises(KeyError, match="acme"):
        retention.prune(now=NOW)

    process.refresh_from_db()
    assert process.pruned_at is not None


def test_a_submitter_who_cannot_be_told_holds_up_no_other(wire):
    poison, healthy = (
        submit("toy_line", subject=name, input={}, now=NOW, sinks=[NewSink("queue", name, "acme")])
        for name in ("replies.acme.poison", "replies.acme.healthy")
    )
    with connection.cursor() as cursor:
        # As an earlier version took it.
        cursor.execute(
            "UPDATE workers_process SET input = %s WHERE id = %s",
            ['{"n": -1' + "0" * 4299 + "}", poison.pk],
        )
    claimed = sinks.claim("queue", 10, 60)

    pending = compose.pending(claimed)

    assert [status.sink.process_id for status in pending] == [healthy.pk]
    assert Alert.objects.get(code="row_unusable").process_id == poison.pk
    # Put off, not held for the time of the claim.
    put_off = Sink.objects.get(process=poison).next_try_at
    assert put_off < claimed[0].until
