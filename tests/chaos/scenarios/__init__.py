"""Presets: a run, or two, and the numbers that it must hold.

The numbers are those of a machine of two cores that does nothing else; where time is
measured, it is compared with a run without faults on the same machine, minutes before.
"""

from tests.chaos.scenarios import (
    detection,
    kills,
    lies,
    load,
    outages,
    pauses,
    slow_services,
    soak,
    sweep,
)
from tests.chaos.scenarios.scenario import Scenario

_KINDS = (kills, pauses, detection, outages, load, slow_services, lies, sweep, soak)
SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in sorted(
        (scenario for kind in _KINDS for scenario in kind.SCENARIOS),
        # n2 before n10.
        key=lambda scenario: (len(scenario.name), scenario.name),
    )
}

__all__ = ["SCENARIOS", "Scenario"]
