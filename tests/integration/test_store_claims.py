"""Claims: taken once, and started in the write that takes them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.integration.conftest import NOW, claim, only
from workers.client.submission import submit
from workers.models import Flow, Journal, Process, Step
from workers.store.claims import claim_steps, release
from workers.testing.agent_processes import room as anywhere

Toy = Callable[..., Process]


def test_a_submitted_process_has_all_its_steps(toy):
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


def test_a_claim_takes_the_step_and_starts_its_clock(toy):
    process = toy()
    here = anywhere()

    found = claim_steps.claim_due({"toy.alpha"}, here, NOW)

    step = only(process, "one")
    assert [(c.step_id, c.claim_id, c.attempt) for c in found] == [(step.pk, step.claim_id, 1)]
    assert (step.state, step.locked_by, step.delivery) == ("processing", here.worker, here.delivery)
    assert (step.started_at, step.began_at) == (NOW, NOW)
    assert step.complete_by == NOW + timedelta(seconds=30)
    assert step.may_have_effect
    process.refresh_from_db()
    assert (process.state, process.started_at) == ("processing", NOW)


def test_a_claimed_step_is_not_claimed_again(toy):
    toy()
    claim()

    assert claim() == []
    assert Journal.objects.filter(event="claimed").count() == 1


def test_a_step_is_not_claimed_before_its_time(toy):
    process = toy()
    Step.objects.filter(process=process, name="one").update(not_before=NOW + timedelta(seconds=9))

    assert claim(NOW + timedelta(seconds=8)) == []
    assert len(claim(NOW + timedelta(seconds=9))) == 1


def test_a_process_in_error_has_nothing_claimed(toy):
    process = toy()
    Process.objects.filter(pk=process.pk).update(state="error")

    assert claim() == []
    assert only(process, "one").state == "pending"


def test_no_agent_gets_more_than_its_window():
    for number in range(5):
        submit("toy_narrow", subject=f"Toy {number}", input={}, now=NOW + timedelta(seconds=number))

    found = claim(NOW + timedelta(minutes=1))

    assert len(found) == 3
    # The longest-waiting first.
    assert sorted(c.process_id for c in found) == sorted(
        Process.objects.order_by("created_at").values_list("pk", flat=True)[:3]
    )
    assert claim(NOW + timedelta(minutes=1)) == []


def test_an_agent_whose_row_has_no_room_gets_nothing(toy):
    toy()
    Flow.objects.filter(agent="toy.alpha").update(window=0)

    assert claim() == []


def test_claims_that_cannot_be_called_are_handed_back_without_a_failure(toy):
    process = toy()
    found = claim()

    assert release.uncalled(found, "agent@test", "unknown here", NOW) == 1

    step = only(process, "one")
    assert (step.state, step.claim_id, step.failure_count, step.attempt) == ("pending", None, 0, 1)
    assert not step.is_in_doubt
    assert len(claim()) == 1


@pytest.mark.fault("F9")
def test_a_superseded_claim_is_not_handed_back(toy):
    process = toy()
    stale = claim()
    release.uncalled(stale, "agent@test", "unknown here", NOW)
    (anew,) = claim()

    assert release.uncalled(stale, "agent@test", "unknown here", NOW) == 0

    step = only(process, "one")
    assert (step.state, step.claim_id) == ("processing", anew.claim_id)
    assert Journal.objects.filter(event="handed_back").count() == 1


def test_no_more_processes_are_locked_than_there_is_room_for(monkeypatch):
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

    assert len(claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW)) == 2
    assert locked == [2]
