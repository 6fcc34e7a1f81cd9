"""The answers that an agent has outstanding are bounded, where it or an operator says so."""

import pytest
from django.core.management import call_command

from tests.integration.conftest import NOW, claim, only, reread
from tests.integration.test_guards import DEFERRAL
from tests.integration.test_store_settling import a_result
from tests.toyflow import agents as toy
from workers import scheduler
from workers.client import callbacks
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.agent import Agent, Call, Deferred
from workers.desk.texts import wait_reasons
from workers.exceptions import StateError, WorkflowError
from workers.models import Flow, Process, Step
from workers.ops import wait_facts
from workers.protocol import callback_tokens
from workers.protocol.messages import Reply
from workers.store.claims import claim_steps
from workers.store.flow import flow_settings
from workers.store.settle import settle_replies
from workers.supervisor import beat_schedule
from workers.testing.agent_processes import room as anywhere


def defer(call: Call) -> Deferred:
    return Deferred(within_seconds=7200)


@pytest.fixture
def deferring(wire) -> list[Process]:
    """Return five processes whose first step is answered later, at most two at a time."""
    Flow.objects.filter(pk="toy.alpha").update(deferred_window=2)
    toy.script["toy.alpha"] = defer
    return [submit("toy_line", subject=f"Toy {number}", input={}) for number in range(5)]


def waiting() -> int:
    return Step.objects.filter(agent="toy.alpha", state="processing").count()


def test_no_more_answers_are_outstanding_than_may_be(wire, deferring):
    wire.run_until_idle()

    assert waiting() == 2
    assert Step.objects.filter(agent="toy.alpha", state="pending").count() == 3
    assert len(toy.calls["toy.alpha"]) == 2


def test_calls_in_flight_count_each_may_defer(wire, deferring):
    agents = {"toy.alpha"}

    assert len(claim_steps.claim_due(agents, anywhere())) == 2
    assert claim_steps.claim_due(agents, anywhere()) == []


def test_an_answer_makes_room_at_once(wire, deferring):
    wire.run_until_idle()
    del toy.calls["toy.alpha"][:]
    answered = Step.objects.filter(agent="toy.alpha", state="processing")[0]

    callbacks.complete(callback_tokens.make(answered.idempotency_key), {})
    scheduler.advance()
    wire.run_until_idle()

    assert reread(answered).state == "processed"
    assert waiting() == 2
    assert len(toy.calls["toy.alpha"]) == 1


def test_a_settlement_counts_what_it_defers(wire):
    """What its replies defer leaves no place for a step that its other replies make ready."""
    Flow.objects.filter(pk="toy.alpha").update(deferred_window=1)
    deferring = submit("toy_line", subject="Toy 1", input={}, now=NOW)
    following = submit("toy_answered", subject="Toy 2", input={}, now=NOW)
    found = claim()
    first, other = sorted(found, key=lambda one: one.process_id)
    later = Reply(first.step_id, first.claim_id, 1, deferral=DEFERRAL)

    settled = settle_replies.apply([later, a_result(other)], "scheduler", NOW, own_room=anywhere())

    assert (settled.applied, settled.claims) == (2, [])
    assert only(deferring, "one").deferral is not None
    assert (only(following, "first").state, only(following, "ask").state) == (
        "processed",
        "pending",
    )


def test_without_a_bound_any_number_is_outstanding(wire, deferring):
    Flow.objects.filter(pk="toy.alpha").update(deferred_window=None)
    wire.run_until_idle()

    assert waiting() == 5


def test_the_wait_says_how_many_are_outstanding(wire, deferring):
    wire.run_until_idle()
    step = Step.objects.filter(agent="toy.alpha", state="pending").select_related("process")[0]
    situation = wait_facts.read([step.process])

    said = wait_reasons.pending(step, step.process, situation.now, situation.facts)

    assert "waits: 2 answers of toy.alpha are outstanding, at most 2" in said


def test_a_row_is_made_with_what_its_agent_declares(monkeypatch):
    Flow.objects.filter(pk="toy.alpha").delete()
    monkeypatch.setattr(type(registry.agent("toy.alpha")), "deferred_window", 7)

    beat_schedule.ensure_flow()

    assert Flow.objects.get(pk="toy.alpha").deferred_window == 7
    assert Flow.objects.get(pk="toy.beta").deferred_window is None


@pytest.mark.parametrize("value", [0, -1, 100_001, 1.5, True, "5"])
def test_a_bound_that_cannot_be_is_refused(value):
    before = list(Flow.objects.order_by("pk").values())
    with pytest.raises(StateError, match="A window of deferred calls must be"):
        flow_settings.set_flow("toy.alpha", {"deferred_window": value}, actor="ann", reason="x")
    assert list(Flow.objects.order_by("pk").values()) == before


def test_a_declared_bound_that_cannot_be_is_refused():
    class Wrong(Agent):
        name = "toy.wrong"
        deferred_window = 0

        def run(self, call: Call) -> None:
            return None

    with pytest.raises(WorkflowError, match="deferred_window"):
        registry.register_agent(Wrong)


def test_the_terminal_sets_shows_and_lifts_it(capsys):
    call_command("sas", "flow", "set", "toy.alpha", "--deferred", "5", "--reason", "their queue")
    assert "toy.alpha deferred_window: None -> 5" in capsys.readouterr().out
    call_command("sas", "flow", "show")
    assert "deferred 5" in capsys.readouterr().out
    call_command("sas", "flow", "set", "toy.alpha", "--deferred", "none", "--reason", "lifted")
    assert Flow.objects.get(pk="toy.alpha").deferred_window is None
