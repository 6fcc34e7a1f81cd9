"""What one person may not undo alone, and for how long a request to another is good."""

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.unit.build import NOW, a_process, a_step
from workers.exceptions import StateError
from workers.rules import compensation
from workers.rules.approved_acts import of_plan
from workers.rules.rows import StepRow
from workers.rules.two_persons import (
    GOOD_FOR,
    NEEDS_ANOTHER,
    refuse_alone,
    refuse_if_expired,
)

LIMIT = Decimal(100)
ANN = "operator:ann"


def paid() -> StepRow:
    undo = {"name": "refund", "agent": "toy.undoer"}
    return a_step("pay", "processed", may_have_effect=True, undo=undo)


@pytest.mark.parametrize(
    ("amount", "code"),
    [(Decimal("100.01"), "two_persons"), (None, "two_persons_unknown")],
    ids=["more than the limit", "of unknown worth"],
)
def test_one_person_alone_is_refused(amount: Decimal | None, code: str) -> None:
    locked = a_process(paid())

    with pytest.raises(StateError) as refusal:
        refuse_alone(locked, of_plan(compensation.plan(locked)), ANN, amount, LIMIT)

    assert refusal.value.code == code
    assert code in NEEDS_ANOTHER


@pytest.mark.parametrize(
    ("actor", "amount", "limit"),
    [
        (ANN, LIMIT, LIMIT),
        (ANN, Decimal(10_000), None),
        ("client:acme", Decimal(10_000), LIMIT),
        ("scheduler@host", None, LIMIT),
    ],
    ids=["just the limit", "no limit", "a client", "a policy"],
)
def test_one_person_suffices_up_to_the_limit_or_if_no_operator_acts(
    actor: str, amount: Decimal | None, limit: Decimal | None
) -> None:
    locked = a_process(paid())

    refuse_alone(locked, of_plan(compensation.plan(locked)), actor, amount, limit)


def test_empty_undo_plan_needs_no_second_person() -> None:
    locked = a_process(a_step("pay", "pending"))

    refuse_alone(locked, of_plan(compensation.plan(locked)), ANN, Decimal(10_000), LIMIT)


def test_a_request_is_good_for_a_day() -> None:
    refuse_if_expired(1, NOW - GOOD_FOR, NOW)

    with pytest.raises(StateError, match="24"):
        refuse_if_expired(1, NOW - GOOD_FOR - timedelta(seconds=1), NOW)
