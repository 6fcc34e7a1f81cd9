"""The verdict must be able to fail: each wrong fact alone, and it does."""

from dataclasses import replace

import pytest

from tests.chaos.accepted import Accepted
from tests.chaos.verdict import Facts, judge

GOOD = Facts(
    accepted=[
        Accepted("a", 1, "http", 0.1),
        Accepted("b", 2, "queue", 0.1),
        Accepted("c", 3, "direct", 0.1),
        Accepted("d", 4, "direct", 0.1, is_late=True),
    ],
    refused=[],
    unanswered=0,
    orders={
        1: ("processed", False),
        2: ("compensated", True),
        3: ("error", True),
        4: ("processed", False),
        # Accepted by nobody's knowledge: a submitter died before its answer.
        5: ("cancelled", False),
    },
    doubled=[],
    violations=[],
    with_ledgers=True,
    unexplained=[],
    is_healed=True,
    strikes={"kill": 3, "freeze": 1},
)


def test_a_run_that_held_everything_passes():
    verdict = judge(GOOD)
    assert (verdict.failings, verdict.gaps, verdict.exit_code) == ([], [], 0)
    assert (verdict.accepted, verdict.lost, verdict.duplicate_effects) == (4, 0, 0)
    assert verdict.states == {"processed": 2, "compensated": 1, "error": 1}
    assert verdict.as_json()["holds"] is True


@pytest.mark.parametrize(
    "found",
    [None, ("pending", False), ("processing", True), ("compensating", True), ("error", False)],
    ids=["missing", "pending", "processing", "compensating", "error that nobody was told of"],
)
def test_an_accepted_order_that_is_nobodys_is_lost(found):
    orders = dict(GOOD.orders)
    del orders[1]
    if found is not None:
        orders[1] = found
    verdict = judge(replace(GOOD, orders=orders))
    assert (verdict.lost, verdict.exit_code) == (1, 1)
    assert verdict.failings == ["1 accepted orders are neither final nor an operator's: 1"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"doubled": ["payment: order 1 has 2 effects"]}, "effects that happened twice"),
        ({"violations": ["Order 1: forgotten"]}, "rows that break an invariant"),
        ({"unexplained": ["order 1: a refund of nothing"]}, "sums that no state explains"),
        ({"is_healed": False}, "not everything came to rest"),
        ({"unanswered": 1}, "1 orders were never answered"),
        ({"refused": ["http: a: 422"]}, "orders that a door refused"),
        ({"untold": ["order 2 has statuses [1, 3]"]}, "statuses that never came"),
        ({"damages": ["row 7 missing from index i"]}, "damages to the database's file: row 7"),
        ({"missed": ["the fault kill went wrong"]}, "the fault kill went wrong"),
    ],
)
def test_each_broken_promise_fails_alone(wrong, said):
    verdict = judge(replace(GOOD, **wrong))  # type: ignore[arg-type]
    assert verdict.exit_code == 1
    assert len(verdict.failings) == 1
    assert said in verdict.failings[0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"strikes": {"kill": 0, "freeze": 1}}, "the fault kill never struck"),
        ({"accepted": []}, "no order was accepted"),
        ({"with_ledgers": False}, "the services' ledgers were not there to be asked"),
    ],
)
def test_a_run_that_proves_less_than_was_asked_fails(wrong, said):
    verdict = judge(replace(GOOD, **wrong))  # type: ignore[arg-type]
    assert (verdict.failings, verdict.gaps, verdict.exit_code) == ([], [said], 1)


def test_an_order_placed_after_the_faults_must_end_without_an_operator():
    verdict = judge(replace(GOOD, orders={**GOOD.orders, 4: ("error", True)}))
    assert verdict.lost == 0
    assert verdict.failings == ["orders placed after the faults did not end: [4]"]


def test_two_keys_with_one_order_fail():
    twice = [*GOOD.accepted, Accepted("e", 1, "http", 0.1)]
    assert judge(replace(GOOD, accepted=twice)).failings == [
        "two keys were answered with one order"
    ]
