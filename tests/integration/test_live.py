"""The narrow rows by which steps are looked for: kept by the database, and put off."""

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction

from tests.integration.conftest import NOW, claim, only
from workers.models import Flow, LiveStep, Step
from workers.ops.invariants import violations
from workers.store.claims import claim_steps
from workers.store.expire import expire_claims
from workers.testing.agent_processes import room as anywhere

#: That of a toy step.
TIMEOUT = timedelta(seconds=30)
CLAIMED = {
    "state": "processing",
    "claim_id": uuid4(),
    "locked_by": "agent@test",
    "started_at": NOW,
    "complete_by": NOW + TIMEOUT,
}


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def rows() -> list[dict[str, Any]]:
    return list(LiveStep.objects.order_by("step_id").values())


def row_of(step: Step, **said: Any) -> dict[str, Any]:
    return {
        "step_id": step.pk,
        "agent": step.agent,
        "state": step.state,
        "turn": step.turn,
        "not_before": step.not_before,
        "look_at": None,
        "is_deferred": False,
        "limit_key": step.limit_key,
        **said,
    }


def change(step: Step, **columns: Any) -> Step:
    Step.objects.filter(pk=step.pk).update(**columns)
    step.refresh_from_db()
    return step


@pytest.fixture
def step(toy) -> Step:
    """Return a pending step, whose process has one that waits."""
    return only(toy(), "one")


def test_a_submitted_process_has_a_row_for_what_can_be_claimed(step):
    assert rows() == [row_of(step, state="pending", not_before=NOW)]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"agent": "toy.gamma"}, {}),
        ({"limit_key": "agent:toy.alpha:customer=7"}, {}),
        ({"turn": after(7)}, {}),
        ({"not_before": after(7)}, {}),
        (CLAIMED, {"look_at": NOW + TIMEOUT}),
        ({**CLAIMED, "deferral": {"since": ""}}, {"look_at": NOW + TIMEOUT, "is_deferred": True}),
        ({"state": "error", "fault": {"kind": "permanent"}}, {}),
    ],
)
def test_a_row_says_what_its_step_says(step, columns, said):
    change(step, **columns)

    assert rows() == [row_of(step, **said)]


@pytest.mark.parametrize(
    ("columns", "look_at"),
    [
        ({"complete_by": after(20)}, after(20)),
        ({"complete_by": after(200)}, after(200)),
        ({"complete_by": after(200), "deferral": {"since": ""}}, after(200)),
        ({"deferral": {"since": ""}}, after(30)),
    ],
)
def test_it_follows_the_end_of_a_claim(step, columns, look_at):
    change(step, **CLAIMED)

    change(step, **columns)

    assert rows() == [row_of(step, look_at=look_at, is_deferred="deferral" in columns)]


@pytest.mark.parametrize("state", ["waiting", "skipped", "cancelled"])
@pytest.mark.parametrize("before", [{}, CLAIMED, {"state": "error"}])
def test_a_step_that_is_live_no_more_has_none(step, before, state):
    change(step, **before)
    nothing = dict.fromkeys(CLAIMED)

    change(step, **{**nothing, "state": state})

    assert rows() == []


def test_a_deleted_process_leaves_none(step):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM workers_journal")
        cursor.execute("DELETE FROM workers_step")

    assert rows() == []


def test_a_claim_is_looked_at_when_it_ends(toy):
    toy()
    (found,) = claim()

    assert rows() == [row_of(Step.objects.get(pk=found.step_id), look_at=NOW + TIMEOUT)]
    assert expire_claims.expire("supervisor", after(31)).reset == 0
    assert expire_claims.expire("supervisor", after(32)).reset == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "pending", "look_at": NOW},
        {"state": "error", "look_at": NOW},
        {"state": "processing", "look_at": None},
        {"state": "waiting"},
        {"state": "pending", "is_deferred": True},
    ],
)
def test_the_database_refuses_a_row_that_says_what_cannot_be(step, wrong):
    with pytest.raises(IntegrityError), transaction.atomic():
        LiveStep.objects.update(**wrong)


def _missing(step: Step) -> None:
    LiveStep.objects.filter(pk=step.pk).delete()


def _stale(step: Step) -> None:
    """Have a row of a step that waits."""
    waiting = Step.objects.get(process=step.process_id, name="two")
    LiveStep.objects.create(
        step=waiting, agent=waiting.agent, state="error", turn=NOW, is_deferred=False
    )


@pytest.mark.parametrize(
    "breaks",
    [
        _missing,
        _stale,
        lambda step: LiveStep.objects.update(state="error"),
        lambda step: LiveStep.objects.update(agent="toy.gamma"),
        lambda step: LiveStep.objects.update(turn=after(7)),
        lambda step: LiveStep.objects.update(not_before=after(7)),
        lambda step: LiveStep.objects.update(not_before=None),
    ],
)
def test_a_wrong_row_is_told(step, breaks):
    breaks(step)

    assert [one.invariant for one in violations()] == ["live_steps_are_found"]


@pytest.mark.parametrize(
    "wrong", [{"look_at": after(31)}, {"is_deferred": True}, {"state": "pending", "look_at": None}]
)
def test_a_wrong_row_of_a_claim_is_told(step, wrong):
    change(step, **CLAIMED)
    LiveStep.objects.update(**wrong)

    assert "live_steps_are_found" in [one.invariant for one in violations()]


def test_a_row_whose_step_is_gone_is_told(step):
    LiveStep.objects.create(
        step_id=step.pk + 1000, agent="toy.alpha", state="error", turn=NOW, is_deferred=False
    )

    assert [one.wrong for one in violations()] == [f"step {step.pk + 1000} is gone"]


def say_pending(step: Step) -> None:
    LiveStep.objects.create(
        step=step, agent=step.agent, state="pending", turn=step.turn, not_before=NOW,
        is_deferred=False,
    )  # fmt: skip


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", ["waiting", "skipped", "processing"])
def test_a_step_is_not_claimed_because_a_wrong_row_says_so(step, state):
    columns = CLAIMED if state == "processing" else {"state": state}
    change(step, **columns)
    LiveStep.objects.all().delete()
    say_pending(step)
    before = Step.objects.values().get(pk=step.pk)

    assert claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW) == []

    assert Step.objects.values().get(pk=step.pk) == before


def test_wrong_pending_index_row_holds_up_no_other_step(step, toy):
    change(step, state="skipped")
    say_pending(step)
    Flow.objects.filter(agent="toy.alpha").update(window=1)
    other = toy()

    (claim,) = claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW)

    assert claim.process_id == other.pk


@pytest.mark.postgresql
def test_step_index_follows_update_made_with_empty_search_path(step):
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema()")
        schema = cursor.fetchone()[0]
        cursor.execute("SET LOCAL search_path = ''")
        cursor.execute(f"UPDATE {schema}.workers_step SET agent = 'toy.gamma' WHERE id = {step.pk}")
        cursor.execute(f"SET LOCAL search_path = {schema}")

    assert [row["agent"] for row in rows()] == ["toy.gamma"]
