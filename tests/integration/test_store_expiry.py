"""Expired steps, and what the Scheduler makes of those that are past their policy."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import override_settings

from tests.integration.conftest import NOW, claim, only, reread
from tests.integration.test_store_settling import a_result, settle
from workers.client import operations
from workers.client.submission import submit
from workers.exceptions import StateError
from workers.models import Alert, Journal, Process, Step
from workers.rules import apply_reply
from workers.runtime.worker_identity import me
from workers.store.claims import find_work
from workers.store.expire import expire_claims
from workers.store.settle import filed_replies, settle_replies

Toy = Callable[..., Process]
AFTER = NOW + timedelta(seconds=32)


def expire_once(now=NOW):  # type: ignore[no-untyped-def]
    found = claim(now)
    expired = expire_claims.expire("supervisor", now + timedelta(seconds=32))
    return found[0], expired


def decide(now=AFTER) -> None:  # type: ignore[no-untyped-def]
    settle_replies.advance(
        find_work.flagged(10),
        "scheduler",
        now,
        lambda locked: apply_reply.carry_out_policies(locked, "scheduler"),
    )


def test_an_expired_step_is_pending_again_with_one_failure_more(toy):
    process = toy()

    _, expired = expire_once()

    assert expired == expire_claims.ExpiryResult(reset=1, errors=0)
    step = only(process, "one")
    assert (step.state, step.failure_count, step.is_in_doubt) == ("pending", 1, True)
    assert (step.claim_id, step.locked_by, step.started_at, step.complete_by) == (None,) * 4
    assert AFTER <= step.not_before <= AFTER + timedelta(seconds=2)
    entry = Journal.objects.get(event="expired")
    assert (entry.before, entry.after, entry.attempt) == ("processing", "pending", 1)
    assert entry.detail["locked_by"] == me("agent")


@pytest.mark.fault("F23")
@pytest.mark.parametrize("seconds", [0, 29, 30, 31])
def test_a_step_is_not_expired_within_its_time_and_the_grace(toy, seconds):
    process = toy()
    claim()

    expired = expire_claims.expire("supervisor", NOW + timedelta(seconds=seconds))

    assert expired == expire_claims.ExpiryResult(0, 0)
    assert only(process, "one").failure_count == 0


def test_a_filed_reply_never_expires(toy):
    process = toy()
    found = claim()
    filed_replies.file(a_result(found[0]), "agent@test", NOW)

    assert expire_claims.expire(
        "supervisor", NOW + timedelta(days=9)
    ) == expire_claims.ExpiryResult(0, 0)
    assert only(process, "one").state == "processing"


@pytest.mark.fault("F8")
def test_a_reply_after_the_expiry_changes_nothing(toy):
    process = toy()
    found, _ = expire_once()
    before = Step.objects.filter(process=process).values().get(name="one")

    settled = settle_replies.apply([a_result(found)], "scheduler", AFTER)

    assert (settled.applied, settled.stale) == (0, 1)
    assert Step.objects.filter(process=process).values().get(name="one") == before


def test_the_third_failure_is_an_error_and_one_alert(toy):
    process = toy()
    for hour in range(3):
        _, expired = expire_once(NOW + timedelta(hours=hour))

    assert expired == expire_claims.ExpiryResult(reset=0, errors=1)
    step = only(process, "one")
    process.refresh_from_db()
    assert (step.state, step.failure_count, step.attempt) == ("error", 3, 3)
    # The Supervisor knows no policy: it leaves the decision to the Scheduler.
    assert (process.state, process.needs_decision) == ("processing", True)
    assert not Alert.objects.exists()

    decide()

    process.refresh_from_db()
    assert (process.state, process.needs_decision) == ("error", False)
    assert list(Alert.objects.values_list("code", "times")) == [("process_error", 1)]
    assert claim(NOW + timedelta(days=9)) == []


def test_resubmitting_gives_three_attempts_again(toy):
    process = toy()
    for hour in range(3):
        expire_once(NOW + timedelta(hours=hour))
    decide()

    names = operations.resubmit(process.pk, actor="operator:ann", reason="fixed", now=AFTER)

    process.refresh_from_db()
    step = only(process, "one")
    assert names == ["one"]
    assert (process.state, step.state, step.failure_count) == ("processing", "pending", 0)
    entry = Journal.objects.get(event="resubmitted", before="error", after="processing")
    assert (entry.actor, entry.detail["reason"]) == ("operator:ann", "fixed")
    assert len(claim(AFTER)) == 1


def test_resubmitting_a_process_that_moved_since_is_refused(toy):
    process = toy()
    for hour in range(3):
        expire_once(NOW + timedelta(hours=hour))
    decide()
    process.refresh_from_db()
    rows = list(Journal.objects.values())

    with pytest.raises(StateError, match="moved since"):
        operations.resubmit(
            process.pk, actor="operator:ann", reason="x", sequence=process.sequence - 1, now=AFTER
        )
    operations.resubmit(
        process.pk, actor="operator:ann", reason="x", sequence=process.sequence, now=AFTER
    )
    with pytest.raises(StateError):
        operations.resubmit(process.pk, actor="operator:ann", reason="x", now=AFTER)

    assert Journal.objects.count() == len(rows) + 2


def test_an_expired_optional_unsafe_step_is_skipped_after_its_first_call(toy):
    process = toy("toy_optional")
    found = claim()
    settle([a_result(found[0])])

    expired = expire_claims.expire("supervisor", AFTER)
    decide()

    assert expired == expire_claims.ExpiryResult(reset=0, errors=1)
    assert only(process, "mail").state == "skipped"
    assert reread(process).state == "processed"
    assert list(Alert.objects.values_list("code", flat=True)) == ["step_skipped"]


def test_a_sweep_takes_one_batch_at_a_time():
    for number in range(5):
        submit("toy_line", subject=f"Toy {number}", input={}, now=NOW)
    claim()

    with override_settings(SAS_SWEEP_BATCH=2):
        counts = [expire_claims.expire("supervisor", AFTER).reset for _ in range(4)]

    assert counts == [2, 2, 1, 0]


def test_what_expired_in_an_outage_gets_time_for_its_reply(toy):
    process = toy()
    claim()
    later = NOW + timedelta(minutes=10)

    assert expire_claims.extend_gap(600, 10, later) == 1

    assert only(process, "one").complete_by == later + timedelta(seconds=10)
    assert expire_claims.expire("supervisor", later).reset == 0
    assert expire_claims.extend_gap(0, 10, later + timedelta(minutes=1)) == 0
