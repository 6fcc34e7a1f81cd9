"""The rate of a key, and what operators set for one: spent, waited for, held, and forgotten."""

from datetime import timedelta

import pytest

from tests.integration.conftest import NOW, only
from tests.integration.test_limit_keys import AGENTS, claim, keyed, live, owners, settle, why
from tests.toyflow import agents as toy
from workers import StateError, Transient, pause, submit
from workers.client import operations
from workers.definitions import completing
from workers.definitions.per_key import PerKey
from workers.models import Journal, LimitedKey, Process
from workers.ops import invariants, wait_facts
from workers.privacy import erase
from workers.store import key_limits, key_places
from workers.store.claims import claim_steps
from workers.testing.agent_processes import room as anywhere


@pytest.fixture(autouse=True)
def _invariants_hold(db):
    yield
    # Claims of an instant long ago, which no sweep has looked at.
    names = {violation.invariant for violation in invariants.violations()}
    assert names <= {"nothing_is_forgotten"}


@pytest.fixture
def polled(monkeypatch):
    """Have a Scheduler look all the time."""
    monkeypatch.setattr(wait_facts.Duty, "is_late", lambda duty, now: False)


@pytest.fixture
def rated(monkeypatch):
    """Two a second for each customer, with room for more at once."""
    monkeypatch.setattr(toy.Keyed, "per_key", PerKey("customer", window=10, rate=2))


def claims_until(seconds, step=0.05):
    """Return at which second each call begins, for an agent that looks all the time."""
    begun = []
    for n in range(round(seconds / step) + 1):
        at = NOW + timedelta(seconds=n * step)
        begun += [n * step] * len(claim(now=at))
    return begun


def test_no_second_has_more_calls_of_a_key_than_its_rate(rated):
    first = [keyed(7) for _ in range(8)]
    begun = claims_until(4)

    assert len(begun) >= 7
    assert all(sum(at <= other < at + 1 for other in begun) <= 2 for at in begun)
    assert [live(process).state for process in first[:7]] == ["processing"] * 7


def test_step_without_a_token_waits_for_the_next_and_the_rest_are_blocked(rated):
    processes = [keyed(7) for _ in range(4)]
    other = keyed(8)
    room = anywhere()

    taken = claim_steps.claim_due(AGENTS, room, NOW)

    assert owners(taken) == [processes[0].pk, other.pk]
    states = [live(process).state for process in processes]
    assert states == ["processing", "pending", "blocked", "blocked"]
    next_at = LimitedKey.objects.get(key="agent:toy.keyed:customer=7").next_at
    assert live(processes[1]).not_before == next_at
    assert only(processes[1], "charge").not_before < next_at
    assert room.rate_seconds == pytest.approx((next_at - NOW).total_seconds(), abs=0.01)
    # A process that finds nothing due looks again then.
    room = anywhere()
    assert claim_steps.claim_due(AGENTS, room, NOW) == []
    assert room.rate_seconds == pytest.approx((next_at - NOW).total_seconds(), abs=0.01)


def test_place_that_comes_free_gives_no_token(rated, monkeypatch):
    monkeypatch.setattr(toy.Keyed, "per_key", PerKey("customer", window=1, rate=2))
    _, second = keyed(7), keyed(7)
    settle(claim())

    assert live(second).state == "pending"
    assert live(second).not_before > NOW
    assert claim() == []
    assert owners(claim(now=NOW + timedelta(seconds=0.6))) == [second.pk]


def test_call_that_backs_off_holds_up_no_other_of_its_key(rated, wire, clock):
    def run(call):
        if call.subject == "C 7" and call.attempt == 1 and not failed:
            failed.append(call.subject)
            raise Transient("x", "y", retry_after=3_600)
        return {}

    failed = []
    toy.script["toy.keyed"] = run
    processes = [keyed(7) for _ in range(5)]
    began = clock.now
    wire.run_until_settled(clock)

    took = sorted(Process.objects.get(pk=one.pk).finished_at - began for one in processes)
    assert took[3] < timedelta(minutes=1) < took[4]


def test_paused_process_with_the_next_token_holds_up_its_key_for_one_poll(rated, wire, clock):
    processes = [keyed(7) for _ in range(4)]
    claim()
    assert live(processes[1]).not_before > NOW
    pause(processes[1].pk, actor="operator:ann", reason="not yet", now=NOW)
    wire.run_until_settled(clock)

    states = [Process.objects.get(pk=one.pk).state for one in processes]
    assert states[1:] == ["pending", "processed", "processed"]


def test_key_at_rest_has_no_row(rated):
    keyed(7)
    claim()
    assert LimitedKey.objects.count() == 1
    assert key_limits.forget_full(10, NOW + timedelta(seconds=0.1)) == 0
    key_limits.forget_full(10, NOW + timedelta(seconds=2))
    assert not LimitedKey.objects.exists()


def test_processes_run_to_their_end_at_the_rate_of_their_key(rated, wire, clock):
    processes = [keyed(7) for _ in range(6)]
    began = clock.now
    wire.run_until_settled(clock)

    assert {Process.objects.get(pk=one.pk).state for one in processes} == {"processed"}
    assert (clock.now - began).total_seconds() >= 2


# What operators set


def set_key(value="7", **changes):
    return operations.set_key("toy.keyed", value, changes, actor="operator:ann", reason="calm")


def test_window_of_0_holds_one_key_until_it_is_given_back():
    held, other = keyed(7), keyed(8)
    assert set_key(window=0) == {"window": [None, 0]}

    assert owners(claim()) == [other.pk]
    assert live(held).state == "blocked"
    assert key_places.mend() == 0
    set_key(window=None)
    assert live(held).state == "pending"
    assert owners(claim()) == [held.pk]
    assert not LimitedKey.objects.exists()
    events = Journal.objects.filter(event="flow_set").values_list("actor", "detail")
    assert [(actor, detail["key"]) for actor, detail in events] == [
        ("operator:ann", "customer=7")
    ] * 2


def test_wider_window_of_one_key_lets_more_begin_at_once():
    processes = [keyed(7) for _ in range(3)]
    claim()
    set_key(window=3)

    assert owners(claim()) == [process.pk for process in processes[1:]]


def test_rate_of_one_key_is_the_operators(monkeypatch):
    monkeypatch.setattr(toy.Keyed, "per_key", PerKey("customer", window=10))
    set_key(rate_per_second=2)
    slow, quick = [keyed(7) for _ in range(3)], [keyed(8) for _ in range(3)]

    assert owners(claim()) == [slow[0].pk, *(process.pk for process in quick)]
    assert owners(claim(now=NOW + timedelta(seconds=0.6))) == [slow[1].pk]


@pytest.mark.parametrize(
    ("agent", "value", "changes", "says"),
    [
        ("toy.alpha", "7", {"window": 1}, "agent with per_key must be named, got 'toy.alpha'"),
        ("toy.keyed", "seven", {"window": 1}, "attribute customer must be int, got 'seven'"),
        ("toy.keyed", "7", {"window": -1}, "window must be a whole number"),
        ("toy.keyed", "7", {"rate_per_second": 0}, "rate must be above 0"),
        ("toy.keyed", "7", {"forced": "open"}, "must be one of window, rate_per_second"),
    ],
)
def test_limit_of_a_key_that_cannot_be_changes_nothing(agent, value, changes, says):
    with pytest.raises(StateError, match=says):
        operations.set_key(agent, value, changes, actor="operator:ann", reason="calm")
    assert not LimitedKey.objects.exists()
    assert not Journal.objects.filter(event="flow_set").exists()


def test_what_was_set_for_a_personal_key_goes_with_the_persons_data(wire, clock, monkeypatch):
    monkeypatch.setattr(toy.Alpha, "per_key", PerKey("email"))
    # Neither the workflow as it was completed before, nor this one for those after it.
    monkeypatch.setattr(completing, "_complete", completing._complete.__wrapped__)
    attributes = {"email": "ada@example.org", "customer": 7, "plan": "p"}
    process = submit("toy_named", subject="A", input={"name": "Ada"}, attributes=attributes)
    by = {"actor": "operator:ann", "reason": "calm"}
    for email in ("ada@example.org", "bob@example.org"):
        operations.set_key("toy.alpha", email, {"window": 5}, **by)
    wire.run_until_settled(clock)

    erase.erase(process.pk, **by)

    assert [row.key for row in LimitedKey.objects.all()] == [
        "agent:toy.alpha:email=bob@example.org"
    ]
    assert "ada@" not in str(list(Journal.objects.values_list("detail", flat=True)))


@pytest.mark.parametrize(
    ("limits", "window", "says"),
    [
        (PerKey("customer", window=10, rate=2), None, "begins 2 a second for each customer"),
        (PerKey("customer", window=10), 0, "operators hold this customer of agent toy.keyed"),
    ],
)
def test_reason_to_wait_names_the_limit_of_the_key(polled, monkeypatch, limits, window, says):
    monkeypatch.setattr(toy.Keyed, "per_key", limits)
    set_key(window=window)
    keyed(7)
    second = keyed(7)
    claim()

    assert says in why(second)
