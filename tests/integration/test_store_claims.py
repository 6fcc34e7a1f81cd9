"""Claims: taken once, started once, sent again when lost, handed back unstarted."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.test import override_settings
from msgspec import structs

from tests.integration.conftest import NOW, claim, only
from workers.client.submission import submit
from workers.models import Alert, Flow, Journal, Process, Step
from workers.store.claims import claim_steps, unstarted

pytestmark = pytest.mark.django_db
Toy = Callable[..., Process]


def start(found, now=NOW, delivery=None, timeout=30):  # type: ignore[no-untyped-def]
    return claim_steps.start(
        [(c.step_id, c.claim_id) for c in found],
        timeout_seconds=timeout,
        worker="agent@test",
        delivery=delivery or uuid4(),
        now=now,
    )


def test_a_submitted_process_has_all_its_steps(toy: Toy) -> None:
    process = toy(colour="red")

    process.refresh_from_db()
    assert (process.state, process.sequence, process.created_at) == ("pending", 1, NOW)
    assert process.input == {"colour": "red"}
    rows = Step.objects.order_by("position").values_list(
        "name", "state", "not_before", "claim_id", "locked_by", "complete_by", "failure_count"
    )
    assert list(rows) == [
        ("one", "pending", NOW, None, None, None, 0),
        ("two", "waiting", None, None, None, None, 0),
    ]
    assert list(Journal.objects.values_list("event", "sequence")) == [("submitted", 1)]


def test_a_claim_takes_the_step_and_starts_no_clock(toy: Toy) -> None:
    process = toy()

    found = claim()

    step = only(process, "one")
    assert [(c.step_id, c.claim_id, c.attempt) for c in found] == [(step.pk, step.claim_id, 1)]
    assert (step.state, step.locked_by, step.claimed_at) == ("processing", "scheduler", NOW)
    assert step.dispatch_by == NOW + timedelta(seconds=15)
    assert (step.started_at, step.complete_by, step.may_have_effect) == (None, None, False)
    process.refresh_from_db()
    assert (process.state, process.started_at) == ("processing", NOW)


def test_a_claimed_step_is_not_claimed_again(toy: Toy) -> None:
    toy()
    claim()

    assert claim() == []
    assert Journal.objects.filter(event="claimed").count() == 1


def test_a_step_is_not_claimed_before_its_time(toy: Toy) -> None:
    process = toy()
    Step.objects.filter(process=process, name="one").update(not_before=NOW + timedelta(seconds=9))

    assert claim(NOW + timedelta(seconds=8)) == []
    assert len(claim(NOW + timedelta(seconds=9))) == 1


def test_a_process_in_error_has_nothing_claimed(toy: Toy) -> None:
    process = toy()
    Process.objects.filter(pk=process.pk).update(state="error")

    assert claim() == []
    assert only(process, "one").state == "pending"


def test_no_agent_gets_more_than_its_window() -> None:
    for number in range(5):
        submit("toy_narrow", subject=f"Toy {number}", input={}, now=NOW + timedelta(seconds=number))

    found = claim(NOW + timedelta(minutes=1))

    assert len(found) == 3
    # The longest-waiting first.
    assert sorted(c.process_id for c in found) == sorted(
        Process.objects.order_by("created_at").values_list("pk", flat=True)[:3]
    )
    assert claim(NOW + timedelta(minutes=1)) == []


def test_an_agent_whose_row_has_no_room_gets_nothing(toy: Toy) -> None:
    toy()
    Flow.objects.filter(agent="toy.alpha").update(window=0)

    assert claim() == []


def test_the_start_sets_the_deadline(toy: Toy) -> None:
    process = toy()
    found = claim()

    assert start(found, NOW + timedelta(seconds=5)) == {found[0].step_id}

    step = only(process, "one")
    assert step.started_at == NOW + timedelta(seconds=5)
    assert step.complete_by == NOW + timedelta(seconds=35)
    assert (step.locked_by, step.may_have_effect) == ("agent@test", True)


@pytest.mark.fault("F7")
def test_a_claim_is_started_once(toy: Toy) -> None:
    process = toy()
    found = claim()
    start(found)
    before = only(process, "one")

    assert start(found, NOW + timedelta(seconds=3)) == set()

    after = only(process, "one")
    assert (after.delivery, after.complete_by) == (before.delivery, before.complete_by)


def test_a_start_whose_answer_was_lost_can_be_repeated(toy: Toy) -> None:
    process = toy()
    found = claim()
    delivery = uuid4()
    start(found, NOW, delivery)

    assert start(found, NOW + timedelta(seconds=3), delivery) == {found[0].step_id}

    assert only(process, "one").complete_by == NOW + timedelta(seconds=30)


@pytest.mark.fault("F9")
def test_a_superseded_claim_is_not_started(toy: Toy) -> None:
    process = toy()
    stale = claim()
    unstarted.release(stale, "scheduler", "test", NOW)
    claim()

    assert start(stale) == set()

    assert only(process, "one").started_at is None


@pytest.mark.fault("F3")
def test_an_unstarted_claim_is_good_however_late_its_message_comes(toy: Toy) -> None:
    toy()
    found = claim()

    assert start(found, NOW + timedelta(hours=5)) == {found[0].step_id}


def test_claims_that_could_not_be_sent_are_handed_back_without_a_failure(toy: Toy) -> None:
    process = toy()
    found = claim()

    assert unstarted.release(found, "scheduler", "broker down", NOW) == 1

    step = only(process, "one")
    assert (step.state, step.claim_id, step.failure_count, step.attempt) == ("pending", None, 0, 1)
    assert len(claim()) == 1


def test_a_started_claim_is_not_handed_back(toy: Toy) -> None:
    process = toy()
    found = claim()
    start(found)

    assert unstarted.release(found, "scheduler", "broker down", NOW) == 0

    assert only(process, "one").state == "processing"
    assert not Journal.objects.filter(event="handed_back").exists()


@pytest.mark.fault("F4")
def test_a_lost_claim_is_sent_again_as_it_is(toy: Toy) -> None:
    process = toy()
    found = claim()

    assert unstarted.lost("scheduler", NOW + timedelta(seconds=15)) == []
    again = unstarted.lost("scheduler", NOW + timedelta(seconds=16))

    # Whatever was read along with the first.
    assert again == [structs.replace(one, owner=None) for one in found]
    step = only(process, "one")
    assert (step.lost_count, step.failure_count, step.attempt) == (1, 0, 1)
    assert step.dispatch_by == NOW + timedelta(seconds=16 + 30)
    assert unstarted.lost("scheduler", NOW + timedelta(seconds=16)) == []


def test_a_started_claim_is_not_lost(toy: Toy) -> None:
    toy()
    start(claim())

    assert unstarted.lost("scheduler", NOW + timedelta(hours=1)) == []


@pytest.mark.fault("F4")
def test_claim_lost_many_times_raises_one_alert(toy: Toy) -> None:
    toy()
    claim()

    with override_settings(SAS_LOST_ALERT_COUNT=2):
        for hours in range(1, 5):
            unstarted.lost("scheduler", NOW + timedelta(hours=hours))

    assert list(Alert.objects.values_list("code", "times")) == [("claims_unstarted", 3)]


def test_no_more_processes_are_locked_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(5):
        submit("toy_line", subject=f"Toy {number}", input={}, now=NOW)
    Flow.objects.filter(agent="toy.alpha").update(window=2)
    locked: list[int] = []
    real = claim_steps.load.lock

    def lock(process_ids: Any, *args: Any, **options: Any) -> Any:
        ids = list(process_ids)
        locked.append(len(ids))
        return real(ids, *args, **options)

    monkeypatch.setattr(claim_steps.load, "lock", lock)

    assert len(claim_steps.claim_due({"toy.alpha"}, "scheduler", NOW)) == 2
    assert locked == [2]
