"""Bounds, and what scenarios compute from a run."""

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.__main__ import _play
from tests.chaos.chronicle import Chronicle, Sample
from tests.chaos.options import parse
from tests.chaos.progress import Progress
from tests.chaos.run import Plan
from tests.chaos.scenarios import SCENARIOS
from tests.chaos.scenarios.bound import Bound
from tests.chaos.scenarios.load import _steadiness
from tests.chaos.scenarios.scenario import SHORTEST_SECONDS, share
from tests.chaos.scenarios.slow_services import longest_silence
from tests.chaos.stage import Stage

SCENARIOS_SAY = {name: scenario.says for name, scenario in SCENARIOS.items()}


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
def test_a_bound_is_held_or_not(measured, is_floor, holds):
    bound = Bound("time", measured, 10.0, "s", is_floor)
    assert bound.holds is holds
    assert str(bound).startswith("held: time" if holds else "MISSED: time")


def test_a_share_is_the_value_below_which_it_lies():
    assert share([], 0.99) is None
    assert share([3.0, 1.0, 2.0], 0.5) == 2.0
    assert share([float(n) for n in range(100)], 0.99) == 99.0


def test_steadiness_compares_the_halves():
    assert _steadiness([(0, 0), (1, 1), (5, 50), (9, 100)]) == 1.0
    assert _steadiness([(0, 0), (1, 1), (5, 50), (13, 100)]) == 0.5
    assert _steadiness([(0, 0)]) is None


def test_a_silence_is_the_longest_time_between_two_effects():
    assert longest_silence([1.0, 2.0, 6.5, 7.0]) == 4.5
    # Nothing but the end of the faults was seen.
    assert longest_silence([9.0]) is None


def test_a_chronicle_begins_with_what_is_up():
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


class Told(Stage):
    """Plays nothing, and remembers the plans."""

    def __init__(self, words: list[str], folder: Path) -> None:
        super().__init__(parse(words, SCENARIOS_SAY), folder, Progress(StringIO()))
        self.plans: list[Plan] = []

    def run(self, title: str, plan: Plan, act: Any = None) -> Any:
        self.plans.append(plan)
        return SimpleNamespace(faults_ended=20.0)


@pytest.mark.parametrize(
    ("name", "pair", "fault", "every"),
    [
        ("n3", "postgresql+rabbitmq", "database-crash", 10),
        ("n3", "postgresql+redis", "database-crash", 10),
        ("n3", "sqlite+filesystem", "crash-all", 10),
        ("n4", "postgresql+rabbitmq", "broker-wipe", 15),
        ("n4", "postgresql+redis", "broker-wipe", 15),
        ("n4", "sqlite+filesystem", "broker-wipe", 15),
    ],
)
def test_a_crash_and_a_wipe_are_what_they_are_on_the_pair(tmp_path, name, pair, fault, every):
    stage = Told(["--scenario", name, "--on", pair, "--orders", "9"], tmp_path)
    (bound,) = _play(stage, stage.options)
    without, under_faults = stage.plans
    assert without.faults == ()
    assert [one.name for one in under_faults.faults] == ["kill", "kill-child", fault]
    assert under_faults.rhythms[fault].every == (every * 0.8, every * 1.2)
    assert (stage.left_out, bound.holds) == ([], True)
    assert bound.limit == {"n3": 6.8, "n4": 5.5}[name] * SHORTEST_SECONDS
