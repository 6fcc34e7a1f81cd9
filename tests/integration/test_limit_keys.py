"""Limits per key: a full key blocks its own steps, and whoever frees a place un-blocks the next."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.integration.conftest import NOW, only
from tests.integration.test_store_settling import a_result
from tests.toyflow import agents as toy
from workers import NewProcess, Permanent, Transient, cancel, pause, status, submit, submit_many
from workers.client import explaining, operations
from workers.definitions.per_key import PerKey
from workers.models import LiveStep, Process, Step
from workers.ops import invariants, wait_facts
from workers.privacy import erase
from workers.store import key_places
from workers.store.claims import claim_steps
from workers.store.expire import expire_claims
from workers.store.settle import settle_replies
from workers.testing.agent_processes import room as anywhere

AGENTS = {"toy.keyed"}


def keyed(customer, workflow="toy_keyed", plan="p", **given):
    attributes = {"customer": customer, "plan": plan}
    return submit(
        workflow, subject=f"C {customer}", input={}, attributes=attributes, now=NOW, **given
    )


def claim(agents=AGENTS, now=NOW):
    return claim_steps.claim_due(set(agents), anywhere(), now)


def settle(claims, now=NOW):
    return settle_replies.apply([a_result(one) for one in claims], "w", now)


def live(process):
    return LiveStep.objects.get(step__process=process)


def owners(claims):
    return [claim.process_id for claim in claims]


@pytest.fixture(autouse=True)
def _invariants_hold(db):
    yield
    # Claims of an instant long ago, which no sweep has looked at.
    names = {violation.invariant for violation in invariants.violations()}
    assert names <= {"nothing_is_forgotten"}


def test_one_at_a_time_for_each_customer_and_others_beside_it():
    first, second, other = keyed(7), keyed(7), keyed(8)

    assert owners(claim()) == [first.pk, other.pk]
    assert live(second).state == "blocked"
    assert only(second, "charge").state == "pending"
    assert claim() == []


def test_whoever_frees_a_place_unblocks_the_next_in_its_turn():
    first, second, third = keyed(7), keyed(7), keyed(7)
    taken = claim()

    result = settle(taken)

    assert [live(process).state for process in (second, third)] == ["pending", "blocked"]
    assert result.waited_for == AGENTS
    assert owners(claim()) == [second.pk]
    assert first.pk == taken[0].process_id


def test_window_of_two_lets_two_begin(monkeypatch):
    monkeypatch.setattr(toy.Keyed, "per_key", PerKey("customer", window=2))
    processes = [keyed(7) for _ in range(5)]

    taken = claim()

    assert owners(taken) == [process.pk for process in processes[:2]]
    settle(taken)
    assert owners(claim()) == [process.pk for process in processes[2:4]]


def test_thousand_of_one_key_hold_up_no_other():
    many = [NewProcess("C 7", {}, attributes={"customer": 7}) for _ in range(1000)]
    submit_many("toy_keyed", many, now=NOW)
    last = keyed(8)

    batches = [claim() for _ in range(4)]

    assert last.pk in [owner for batch in batches for owner in owners(batch)]
    assert LiveStep.objects.filter(state="blocked").count() == 999
    assert sum(map(len, batches)) == 2


def test_expired_claim_gives_its_place_to_the_next():
    keyed(7), keyed(7)
    [first] = claim()
    later = NOW + timedelta(minutes=5)

    expire_claims.expire("w", later)

    # Its own step is parked, and the next one has its turn.
    assert [row.state for row in LiveStep.objects.order_by("step")] == ["pending", "pending"]
    [second] = claim(now=later)
    assert second.process_id != first.process_id
    # A zombie's reply gives nothing back.
    settle_replies.apply([a_result(first)], "w", later)
    assert LiveStep.objects.filter(state="processing").count() == 1


def test_failed_call_leaves_its_place_while_it_backs_off(wire, clock):
    toy.script["toy.keyed"] = lambda call: (_ for _ in ()).throw(Transient("x", "y"))
    processes = [keyed(7) for _ in range(3)]

    wire.run_until_settled(clock)

    assert {Process.objects.get(pk=p.pk).state for p in processes} == {"error"}


def test_fall_back_and_undo_have_the_keys_of_their_agents(wire, clock):
    process = keyed(7, "toy_keyed_back", plan="pro")
    charge = only(process, "charge")
    assert charge.limit_key == "agent:toy.keyed:customer=7"
    toy.script["toy.keyed"] = lambda call: (_ for _ in ()).throw(Permanent("no", "no"))
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(Permanent("no", "no"))

    wire.run_until_settled(clock)

    assert only(process, "charge").limit_key == "agent:toy.keyed_pairs:plan=pro"
    # The second agent has no undo of its own.
    assert Process.objects.get(pk=process.pk).state == "compensated"


def test_undo_of_a_full_key_waits_for_its_turn_and_is_not_starved(wire, clock):
    toy.script["toy.beta"] = lambda call: (_ for _ in ()).throw(Permanent("no", "no"))
    processes = [keyed(n, "toy_keyed_back", plan="pro") for n in range(6)]

    wire.run_until_settled(clock)

    assert {Process.objects.get(pk=p.pk).state for p in processes} == {"compensated"}
    refunds = Step.objects.filter(name="refund")
    assert {step.limit_key for step in refunds} == {"agent:toy.keyed_pairs:plan=pro"}


def test_cancelled_step_passes_its_turn_on():
    _, second, third = keyed(7), keyed(7), keyed(7)
    settle(claim())
    assert live(second).state == "pending"

    cancel(second.pk, actor="operator:o", reason="r")

    assert live(third).state == "pending"
    assert owners(claim()) == [third.pk]


def test_poll_unblocks_what_nobody_did():
    keyed(7), keyed(7), keyed(8), keyed(8)
    claim()
    # Its place came free, and nobody gave it on.
    at_work = LiveStep.objects.filter(limit_key__endswith="=7", state="processing")
    at_work.update(limit_key="lost")

    assert key_places.mend() == 1
    assert LiveStep.objects.get(limit_key__endswith="=7").state == "pending"
    assert key_places.mend() == 0
    lost = LiveStep.objects.filter(limit_key="lost")
    lost.update(limit_key="agent:toy.keyed:customer=7")


def test_paused_process_keeps_its_turn_from_others_for_one_poll_at_most(wire, clock):
    _, second, third = keyed(7), keyed(7), keyed(7)
    pause(second.pk, actor="operator:o", reason="r")

    wire.run_until_settled(clock)

    assert Process.objects.get(pk=third.pk).state == "processed"
    assert Process.objects.get(pk=second.pk).state == "pending"


def test_erased_process_has_no_key(wire, clock):
    process = keyed(7)
    wire.run_until_settled(clock)
    Process.objects.filter(pk=process.pk).update(workflow="toy_named")

    erase.erase(process.pk, actor="operator:o", reason="r")

    assert only(process, "charge").limit_key is None
    assert Process.objects.get(pk=process.pk).limit_values is None


def test_agent_without_a_limit_any_more_lets_all_go(monkeypatch):
    for _ in range(4):
        keyed(7)
    claim()
    monkeypatch.setattr(toy.Keyed, "per_key", None)

    key_places.mend()

    assert len(claim()) == 3


def test_unkeyed_agents_send_the_statements_they_sent(toy):
    toy()
    with CaptureQueriesContext(connection) as queries:
        [one] = claim({"toy.alpha"})
        settle([one])
    assert not [q["sql"] for q in queries if "limit_key =" in q["sql"] or "advisory" in q["sql"]]


@pytest.mark.parametrize("given", [{}, {"plan": "p"}])
def test_submission_without_the_attribute_is_refused_by_name(given):
    with pytest.raises(ValueError, match="customer must be given: agent toy"):
        submit("toy_keyed", subject="C", input={}, attributes=given)
    assert not Process.objects.exists()


# Reasons to wait


def why(process, **given):
    return status(process.pk, NOW, **given).steps[0].explanation


@pytest.fixture
def polled(monkeypatch):
    """Have a Scheduler look all the time."""
    monkeypatch.setattr(wait_facts.Duty, "is_late", lambda duty, now: False)


def test_reason_to_wait_names_the_key_its_holder_and_how_many_come_first(polled):
    first = keyed(7)
    _, third = keyed(7), keyed(7)
    Step.objects.filter(process=third).update(turn=NOW + timedelta(seconds=9))
    claim()

    blocked = "blocked: agent toy.keyed has 1 at once for each customer"
    assert why(third) == f"{blocked}, now process {first.pk}, which is processing (1 before it)"
    assert why(third, with_names=False) == f"{blocked} (1 before it)"


def test_reason_to_wait_names_the_process_in_error_that_is_alone(polled, wire, clock):
    toy.script["toy.gamma"] = lambda call: (_ for _ in ()).throw(Permanent("no", "no"))
    first, second = exclusive(7), exclusive(7)
    wire.run_until_settled(clock)

    blocked = "blocked: workflow toy_exclusive has one process at a time for each customer"
    assert why(second) == f"{blocked}, now process {first.pk}, which is error (0 before it)"


def test_reason_without_a_desk_is_a_code(monkeypatch):
    keyed(7)
    second = keyed(7)
    claim()
    monkeypatch.setattr(explaining, "_words", explaining.Codes())

    assert why(second).endswith("blocked_by=customer")


# Exclusive workflows


def exclusive(customer, version=1):
    return keyed(customer, "toy_exclusive", version=version)


ALL = {"toy.alpha", "toy.beta", "toy.gamma", "toy.delta"}


def states(process):
    rows = LiveStep.objects.filter(step__process=process).order_by("step")
    return [row.state for row in rows]


def test_one_process_for_each_customer_from_its_first_step_to_its_end(wire, clock):
    first, second, other = exclusive(7), exclusive(7), exclusive(8)

    taken = claim(ALL)

    assert set(owners(taken)) == {first.pk, other.pk}
    assert len(taken) == 4
    assert states(second) == ["blocked", "blocked"]
    settle(taken)
    # Between two of its steps it holds the key.
    assert set(owners(claim(ALL))) == {first.pk, other.pk}
    settle_replies.apply([a_result(one) for one in []], "w", NOW)
    assert states(second) == ["blocked", "blocked"]


def test_end_lets_the_next_begin_with_all_its_first_steps(wire, clock):
    processes = [exclusive(7) for _ in range(3)]
    settle(claim(ALL))
    result = settle(claim(ALL))

    assert Process.objects.get(pk=processes[0].pk).state == "processed"
    assert result.waited_for >= {"toy.alpha", "toy.beta"}
    assert [states(process) for process in processes[1:]] == [["pending"] * 2, ["blocked"] * 2]
    # Their agents' keys are those of the steps again.
    assert LiveStep.objects.filter(state="pending", limit_key__isnull=False).count() == 0


def test_versions_of_a_workflow_share_the_key_whatever_their_agents():
    first, second = exclusive(7), exclusive(7, version=2)

    assert set(owners(claim(ALL))) == {first.pk}
    assert states(second) == ["blocked"]


def test_one_in_error_still_holds_the_key(wire, clock):
    toy.script["toy.gamma"] = lambda call: (_ for _ in ()).throw(Permanent("no", "no"))
    first, second = exclusive(7), exclusive(7)

    wire.run_until_settled(clock)

    assert Process.objects.get(pk=first.pk).state == "error"
    assert states(second) == ["blocked", "blocked"]
    del toy.script["toy.gamma"]
    cancel(first.pk, actor="operator:o", reason="r")
    wire.run_until_settled(clock)
    assert Process.objects.get(pk=second.pk).state == "processed"


def test_cancelled_process_that_was_next_passes_its_turn_on():
    first, second, third = (exclusive(7) for _ in range(3))
    claim(ALL)
    cancel(second.pk, actor="operator:o", reason="r")
    assert states(third) == ["blocked"] * 2

    settle(claim_of(first))
    settle(claim(ALL))

    assert Process.objects.get(pk=first.pk).state == "processed"
    assert states(third) == ["pending"] * 2


def test_sibling_that_stayed_blocked_when_its_process_began_is_unblocked_by_the_poll():
    first, _, third = exclusive(7), exclusive(7, version=2), exclusive(7)
    claim(ALL)
    # Written by an operator, one of its steps is in the queue again, ...
    later = NOW + timedelta(seconds=1)
    operations.postpone(third.pk, "left", later, actor="operator:o", reason="r", now=NOW)
    settle(claim_of(first))
    settle(claim({"toy.gamma"}))
    # ... and its agent comes before that of the process whose turn it is.
    assert owners(claim({"toy.alpha"}, later)) == [third.pk]
    assert states(third) == ["processing", "blocked"]

    assert key_places.mend() == 1

    assert states(third) == ["processing", "pending"]
    assert key_places.mend() == 0


def claim_of(process):
    """Return the claims that a process has."""
    steps = Step.objects.filter(process=process, state="processing")
    return [
        type("Held", (), {"step_id": s.pk, "claim_id": s.claim_id, "attempt": s.attempt})
        for s in steps
    ]


def test_thirty_exclusive_processes_end_one_after_the_other(wire, clock):
    processes = [exclusive(n % 3, version=1 + n % 2) for n in range(30)]

    wire.run_until_settled(clock)

    rows = Process.objects.filter(pk__in=[process.pk for process in processes])
    assert {row.state for row in rows} == {"processed"}


def keyed_fleet(**attributes):
    items = [{"n": n} for n in range(4)]
    return submit("toy_keyed_fleet", subject="F", input={"items": items}, attributes=attributes)


def test_children_are_limited_by_the_attributes_of_their_parent(wire, clock):
    most = []

    def run(call):
        most.append(LiveStep.objects.filter(state="processing", agent="toy.keyed").count())
        return {}

    toy.script["toy.keyed"] = run
    parent = keyed_fleet(customer=7)

    wire.run_until_settled(clock)

    assert Process.objects.get(pk=parent.pk).state == "processed"
    keys = Step.objects.filter(agent="toy.keyed").values_list("limit_key", flat=True)
    assert list(keys) == ["agent:toy.keyed:customer=7"] * 4
    assert most == [1] * 4


def test_parent_without_the_attribute_of_its_children_fails_and_says_which(wire, clock):
    parent = keyed_fleet()

    wire.run_until_settled(clock)

    assert Process.objects.get(pk=parent.pk).state == "error"
    assert "attribute customer must be declared and given" in only(parent, "each").fault["message"]
