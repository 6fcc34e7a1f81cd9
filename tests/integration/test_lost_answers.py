"""Claims that a process started by a write whose answer it never read."""

from typing import Any

from django.db import OperationalError

from tests.integration.conftest import NOW, only, rows
from tests.toyflow import agents as toy
from workers import scheduler
from workers.agent import shift
from workers.client.submission import submit
from workers.models import Journal
from workers.store.claims import claim_steps, release
from workers.store.expire import expire_claims
from workers.testing import pass_time
from workers.testing.agent_processes import room


def test_what_was_started_by_a_write_without_an_answer_is_given_back(wire, monkeypatch):
    process = submit("toy_line", subject="Toy 1", input={})
    real, lost = scheduler.settle, []

    def settle_and_lose(*given: Any, **options: Any) -> Any:
        result = real(*given, **options)
        if not lost:
            lost.append(only(process, "two").claim_id)
            raise OperationalError("the connection broke after the commit")
        return result

    monkeypatch.setattr(scheduler, "settle", settle_and_lose)

    shift.take("sas.agents")

    step = only(process, "two")
    assert Journal.objects.filter(event="handed_back", step=step).count() == 1
    # The same shift takes it once more, and calls once.
    assert (step.state, step.failure_count, step.attempt) == ("processed", 0, 2)
    assert len(toy.calls["toy.beta"]) == 1


def test_what_was_taken_by_a_write_without_an_answer_is_given_back(wire, monkeypatch):
    process = submit("toy_line", subject="Toy 1", input={})
    real = claim_steps.claim_due

    def claim_and_lose(*given: Any, **options: Any) -> Any:
        real(*given, **options)
        raise OperationalError("the connection broke after the commit")

    monkeypatch.setattr(claim_steps, "claim_due", claim_and_lose)

    shift.take("sas.agents")

    step = only(process, "one")
    assert (step.state, step.failure_count, step.is_in_doubt) == ("pending", 0, False)
    assert toy.calls["toy.alpha"] == []
    assert Journal.objects.filter(event="handed_back", step=step).count() == 1


def test_what_was_begun_is_not_given_back(wire):
    process = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    here = room()
    (claim,) = claim_steps.claim_due({"toy.alpha"}, here, NOW)
    before = rows()

    assert release.unbegun(here.delivery, {claim.step_id}, "agent@test", NOW) == 0

    assert rows() == before
    assert release.unbegun(here.delivery, set(), "agent@test", NOW) == 1
    assert only(process, "one").state == "pending"


def test_a_claim_of_a_process_that_died_expires_as_any(wire):
    process = submit("toy_line", subject="Toy 1", input={})
    claim_steps.claim_due({"toy.alpha"}, room())
    pass_time(40)

    expire_claims.expire("supervisor")

    step = only(process, "one")
    assert (step.state, step.failure_count, step.is_in_doubt) == ("pending", 1, True)
