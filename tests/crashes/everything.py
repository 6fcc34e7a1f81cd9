"""Every scenario, and the points that none of them can reach."""

from tests.crashes import clients, doors, ending, forward, mishaps, operating, shopping
from tests.crashes.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *forward.SCENARIOS,
    *mishaps.SCENARIOS,
    *operating.SCENARIOS,
    *shopping.SCENARIOS,
    *doors.SCENARIOS,
    *clients.SCENARIOS,
    *ending.SCENARIOS,
]

#: Point without its stop -> why nothing is killed there.
EXCUSED: dict[str, str] = {}
