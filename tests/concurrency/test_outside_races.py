"""Operators, callbacks and the engine's own roles at the same step at once: one of them wins.

Each guard is also taken away once, to show that its race would be seen.
"""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from tests.concurrency.racing import meeting_before_the_write, race
from tests.concurrency.test_races import without_where
from tests.integration.conftest import NOW, only
from workers.client import callbacks, operations
from workers.client.submission import submit
from workers.exceptions import StateError
from workers.models import Hold, Journal, Process
from workers.ops import invariants
from workers.protocol.messages import Reply
from workers.rules.external_answers import Outcome
from workers.rules.rate_limit import Bucket
from workers.store.claims import claim_steps
from workers.store.expire import expire_claims
from workers.store.flow import flow_settings, holds
from workers.store.settle import settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere

pytestmark = pytest.mark.django_db(transaction=True)
TOY = {"toy.alpha", "toy.beta", "toy.gamma", "toy.quiet"}
DEFERRAL = {"seconds": 60.0, "question": "?", "permission": "", "escalate_seconds": None}


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()


@pytest.fixture
def waiting() -> Process:
    """A process whose only other step is done and whose second waits for a callback."""
    process = submit("toy_event", subject="Toy 1", input={}, now=NOW)
    (work,) = claim_steps.claim_due(TOY, anywhere(), NOW)
    done = settle_replies.apply(
        [Reply(work.step_id, work.claim_id, 1, result={})], "agent", NOW, own_room=anywhere()
    )
    (arrives,) = done.claims
    deferral = Reply(arrives.step_id, arrives.claim_id, 1, deferral=DEFERRAL)
    settle_replies.apply([deferral], "scheduler", NOW)
    return process


def answer(process: Process, n: int) -> Any:
    return lambda: callbacks.complete_step(process.pk, "arrives", {"n": n}, actor="door", now=NOW)


def broken() -> set[str]:
    """Return the invariants that do not hold; the rows are of a day long past."""
    return {violation.invariant for violation in invariants.violations()} - {"nothing_is_forgotten"}


def errors(results: list[Any]) -> list[Any]:
    return [one for one in results if isinstance(one, Exception)]


def test_of_two_answers_one_counts(waiting, monkeypatch):
    with meeting_before_the_write(monkeypatch, 2):
        results = race([answer(waiting, 1), answer(waiting, 2)])

    assert Counter(results) == {Outcome.ACCEPTED: 1, Outcome.REPEATED: 1}
    assert only(waiting, "arrives").result == {"n": 1 + results.index(Outcome.ACCEPTED)}
    assert broken() == set()


@pytest.mark.postgresql
def test_without_its_guards_both_answers_would_count(waiting, monkeypatch):
    without_where(monkeypatch)
    with meeting_before_the_write(monkeypatch, 2):
        results = race([answer(waiting, 1), answer(waiting, 2)])

    # The journal's own constraint is the last to hold.
    assert errors(results) or Counter(results) == {Outcome.ACCEPTED: 2}


def test_an_answer_and_the_deadline_meet(waiting, monkeypatch):
    after = NOW + timedelta(seconds=70)
    with meeting_before_the_write(monkeypatch, 2):
        results = race([answer(waiting, 1), lambda: expire_claims.expire("supervisor", after)])

    # Whichever came first: an answer is valid after an expiry, too, if only kept for the next
    # time it is asked for.
    assert errors(results) == []
    step = only(waiting, "arrives")
    assert (step.state, step.early) in [("processed", None), ("pending", {"result": {"n": 1}})]
    assert step.failure_count == (0 if results[1].reset == 0 else 1)
    assert broken() == set()


def test_an_early_answer_and_the_deferral_meet(monkeypatch):
    process = submit("toy_event", subject="Toy 1", input={}, now=NOW)
    (work,) = claim_steps.claim_due(TOY, anywhere(), NOW)
    done = settle_replies.apply(
        [Reply(work.step_id, work.claim_id, 1, result={})], "agent", NOW, own_room=anywhere()
    )
    (arrives,) = done.claims
    deferral = Reply(arrives.step_id, arrives.claim_id, 1, deferral=DEFERRAL)

    with meeting_before_the_write(monkeypatch, 2):
        results = race(
            [answer(process, 1), lambda: settle_replies.apply([deferral], "scheduler", NOW)]
        )

    assert errors(results) == []
    assert only(process, "arrives").result == {"n": 1}
    assert broken() == set()


@pytest.mark.fault("F40")
@pytest.mark.parametrize(
    "verb",
    [
        lambda pk, seen: operations.skip(pk, "arrives", actor="x", reason="", sequence=seen),
        lambda pk, seen: operations.complete(
            pk, "arrives", {}, actor="x", reason="", sequence=seen
        ),
        lambda pk, seen: operations.pause(pk, actor="x", reason="", sequence=seen),
        lambda pk, seen: operations.undo(
            pk, outcome="cancelled", actor="x", reason="", sequence=seen
        ),
    ],
    ids=["skip", "complete", "pause", "cancel"],
)
def test_of_two_clicks_one_does_something(waiting, verb, monkeypatch):
    waiting.refresh_from_db()
    rows = Journal.objects.filter(process=waiting, actor="x")

    with meeting_before_the_write(monkeypatch, 2):
        results = race([lambda: verb(waiting.pk, waiting.sequence)] * 2)

    refused = errors(results)
    assert [type(one) for one in refused] == [StateError]
    assert "has moved" in str(refused[0])
    assert rows.filter(event__in=["skipped", "processed", "paused", "compensating"]).count() >= 1
    assert broken() == set()


@pytest.mark.fault("F40")
def test_a_pause_and_a_claim_meet(monkeypatch):
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    with meeting_before_the_write(monkeypatch, 2):
        results = race(
            [
                lambda: claim_steps.claim_due(TOY, anywhere(), NOW),
                lambda: operations.pause(process.pk, actor="x", reason="", now=NOW),
            ]
        )

    assert errors(results) == []
    process.refresh_from_db()
    assert process.paused_at is not None
    # Claimed before the pause or not at all: never after it.
    assert broken() == set()


def test_of_two_holds_one_holds():
    results = race([lambda: holds.hold("agent", "toy.alpha", actor="x", reason="")] * 4)
    assert [type(one) for one in errors(results)] == [StateError] * 3
    assert Hold.objects.count() == 1


def test_a_rate_is_spent_once_by_all_processes():
    flow_settings.set_flow("toy.alpha", {"rate_per_second": 20}, actor="x", reason="", now=NOW)
    for n in range(20):
        submit("toy_line", subject=f"Toy {n}", input={}, now=NOW)
    results = race([lambda: claim_steps.claim_due({"toy.alpha"}, anywhere(), NOW)] * 4)

    assert errors(results) == []
    # All that a full bucket holds, together.
    assert sum(len(taken) for taken in results) == int(Bucket(20).at_once) == 1
