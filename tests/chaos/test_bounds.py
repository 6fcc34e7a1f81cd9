"""Bounds, and what scenarios compute from a run."""

import pytest

from tests.chaos.chronicle import Chronicle, Sample
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.load import _steadiness
from tests.chaos.scenarios.scenario import share


@pytest.mark.parametrize(
    ("measured", "is_floor", "holds"),
    [
        (9.9, False, True),
        (10.0, False, True),
        (10.1, False, False),
        (9.9, True, False),
        (10.0, True, True),
        (None, False, False),
        (None, True, False),
    ],
)
def test_a_bound_is_held_or_not(measured: float | None, is_floor: bool, holds: bool) -> None:
    bound = Bound("time", measured, 10.0, "s", is_floor)
    assert bound.holds is holds
    assert str(bound).startswith("held: time" if holds else "MISSED: time")


def test_every_number_has_its_scenario() -> None:
    assert {f"n{number}" for number in range(1, 15)} | {"soak"} == set(SCENARIOS)


def test_a_share_is_the_value_below_which_it_lies() -> None:
    assert share([], 0.99) is None
    assert share([3.0, 1.0, 2.0], 0.5) == 2.0
    assert share([float(n) for n in range(100)], 0.99) == 99.0


def test_steadiness_compares_the_halves() -> None:
    assert _steadiness([(0, 0), (1, 1), (5, 50), (9, 100)], 100) == 1.0
    assert _steadiness([(0, 0), (1, 1), (5, 50), (13, 100)], 100) == 0.5
    assert _steadiness([(0, 0)], 100) is None


def test_a_chronicle_begins_with_what_is_up() -> None:
    chronicle = Chronicle()
    chronicle.lane("beat", "down")
    chronicle.lane("beat", "up")
    chronicle.lane("beat", "up")
    chronicle.begin()
    assert chronicle.lanes == {"beat": [(0.0, "up")]}
    chronicle.sample(Sample(1.0, {}, 0))
    chronicle.strike("kill", "beat", "kill -9")
    chronicle.strike("kill", "beat", "kill -9")
    assert chronicle.strikes() == {"kill": 2}
