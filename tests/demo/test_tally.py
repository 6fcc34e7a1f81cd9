"""The figures at the end: what counts as lost, as doubled, as recovered, and as a proof."""

import json
from typing import Any

import pytest

from orders.invariants import Ledgers
from orders.sandbox.faults import FaultSet
from sasproject.demo import summary, tally
from sasproject.demo.tally import Tally
from workers.ops.invariants import Violation
from workers.states import OPEN_PROCESS_STATES

SERVICES = ("payment", "shipping", "courier", "billing")


def effects(*calls: tuple[str, str, int]) -> Ledgers:
    listed: dict[str, list[dict[str, Any]]] = {service: [] for service in SERVICES}
    for service, operation, order in calls:
        listed[service].append({"operation": operation, "order": order})
    return Ledgers(listed, {service: {} for service in SERVICES})


def count(accepted: list[int], states: dict[int, str], **facts: Any) -> Tally:
    return tally.count(
        accepted,
        states,
        **{
            "alerted": (),
            "troubled": (),
            "ledgers": effects(),
            "faults_before": {},
            "kills": 1,
            "seconds": 1.0,
            "violations": (),
            **facts,
        },
    )


def test_states_are_counted_also_those_that_this_version_does_not_have():
    states = dict(enumerate(["processed", "processed", "compensated", "cancelled", "error"], 1))
    found = count([1, 2, 3, 4, 5], states, alerted={5})
    assert (found.orders, found.processed, found.compensated) == (5, 2, 1)
    assert (found.cancelled, found.error, found.lost) == (1, 1, 0)


def test_orders_of_others_do_not_count():
    found = count([2], {1: "error", 2: "processed"}, troubled={1})
    assert (found.orders, found.processed, found.error, found.recovered) == (1, 1, 0, 0)


@pytest.mark.parametrize(
    ("state", "is_alerted", "is_lost"),
    [
        ("processed", False, False),
        ("compensated", False, False),
        ("cancelled", False, False),
        ("error", True, False),
        ("error", False, True),
        ("compensating", True, True),
        ("compensating", False, True),
        # On its way is not at its end, whatever an operator was told of a step.
        ("processing", True, True),
        ("pending", False, True),
    ],
)
def test_lost_is_neither_final_nor_alerted(state, is_alerted, is_lost):
    assert count([7], {7: state}, alerted={7} if is_alerted else ()).lost == is_lost


@pytest.mark.parametrize("state", sorted(OPEN_PROCESS_STATES))
def test_an_order_that_only_needed_more_time_is_not_said_to_be_lost(state):
    cut_short = count([7], {7: state})
    assert cut_short.failings() == ["1 orders had not ended"]
    said = summary.text(cut_short)
    assert "     1 not ended yet" in said
    assert "     0 lost" in said
    # Programs are told what the contract says: neither final nor alerted.
    assert json.loads(cut_short.as_json())["lost"] == 1


def test_an_accepted_order_that_the_store_does_not_know_is_lost():
    found = count([1, 2], {1: "processed"})
    assert (found.orders, found.processed, found.lost) == (2, 1, 1)


@pytest.mark.parametrize(
    ("calls", "doubled"),
    [
        ([("payment", "charge", 1)], 0),
        ([("payment", "charge", 1), ("payment", "charge", 1)], 1),
        ([("payment", "charge", 1)] * 3, 2),
        ([("payment", "charge", 1), ("payment", "refund", 1), ("payment", "charge", 1)], 0),
        ([("payment", "charge", 1), ("shipping", "book", 1), ("billing", "issue", 1)], 0),
        ([("payment", "charge", 1), ("payment", "charge", 2)], 0),
        ([("shipping", "book", 1), ("shipping", "cancel", 1), ("shipping", "cancel", 1)], 1),
        # Not of this run.
        ([("payment", "charge", 9), ("payment", "charge", 9)], 0),
    ],
)
def test_an_effect_counts_as_doubled_beyond_those_undone(calls, doubled):
    assert tally.duplicate_effects(effects(*calls), [1, 2]) == doubled


def test_recovered_is_final_after_a_trouble():
    states = {1: "processed", 2: "processed", 3: "error", 4: "processing", 5: "compensated"}
    assert count([1, 2, 3, 4, 5], states, troubled={2, 3, 4, 5}).recovered == 2


def test_faults_are_summed_by_switch_without_those_of_an_earlier_run():
    ledgers = Ledgers(
        {}, {"payment": {"down": 2, "hang_rate": 1}, "billing": {"hang_rate": 4, "down": 0}}
    )
    assert tally.strike_counts(ledgers) == {"down": 2, "hang_rate": 5}
    ledgers = Ledgers({service: [] for service in SERVICES}, ledgers.faults)
    found = count([], {}, ledgers=ledgers, faults_before={"hang_rate": 3})
    assert found.faults == {"down": 2, "hang_rate": 2}


def test_a_struck_fault_is_counted_in_calls():
    faults = {"latency_seconds": 300, "down": 0, "drop_after_effect_rate": 1, "new_switch": 2}
    said = summary.text(proof(faults=faults))
    assert "a fault: 300 slowed down, 1 carried out but its answer lost, 2 new_switch\n" in said
    assert "latency_seconds" not in said


def test_every_switch_of_the_sandbox_has_words():
    switches = set(FaultSet.__dataclass_fields__) - {"seed", "error_status", "lie_statuses"}
    assert set(summary.STRUCK) == switches


def proof(**changes: Any) -> Tally:
    figures: dict[str, Any] = {
        **dict.fromkeys(("compensated", "cancelled", "error", "lost", "duplicate_effects"), 0),
        "unended": 0,
        "orders": 3,
        "processed": 3,
        "recovered": 1,
        "kills": 2,
        "seconds": 41.23,
        "faults": {"hang_rate": 2, "down": 0},
    }
    return Tally(**{**figures, **changes})


def test_a_proof_has_no_failings():
    assert proof().failings() == proof().gaps() == []
    assert summary.text(proof()).endswith("Nothing lost, nothing twice.")


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"lost": 2}, "2 orders were lost"),
        ({"duplicate_effects": 1}, "1 effects happened twice"),
        ({"violations": (Violation("x", "is so", "Order 1", "is not"),)}, "1 rows break"),
    ],
)
def test_a_broken_promise_is_said(changes, failing):
    spoiled = proof(**changes)
    assert len(spoiled.failings()) == 1
    assert failing in spoiled.failings()[0]
    assert spoiled.gaps() == []
    assert f"BROKEN: {spoiled.failings()[0]}" in summary.text(spoiled)


def test_a_run_without_a_kill_breaks_nothing_and_proves_little():
    assert "a run of 4 s, 1 kill\n" in summary.text(proof(kills=1, seconds=4))
    quiet = proof(kills=0, recovered=0)
    assert quiet.failings() == []
    assert quiet.gaps() == ["nothing was killed", "no order had to recover"]
    assert summary.text(quiet).endswith("nothing was killed; no order had to recover")


def test_the_line_for_programs_has_exactly_the_fields_of_the_contract():
    assert json.loads(proof().as_json()) == {
        "orders": 3,
        "processed": 3,
        "compensated": 0,
        "cancelled": 0,
        "error": 0,
        "lost": 0,
        "duplicate_effects": 0,
        "recovered": 1,
        "kills": 2,
        "seconds": 41.2,
        "faults": {"hang_rate": 2, "down": 0},
    }
