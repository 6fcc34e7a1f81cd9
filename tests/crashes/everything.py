"""Every scenario."""

from tests.crashes import (
    clients,
    doors,
    ending,
    forward,
    health,
    jobs,
    mishaps,
    on_call,
    operating,
    shopping,
    terminal,
    two_persons,
)
from tests.crashes.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *forward.SCENARIOS,
    *mishaps.SCENARIOS,
    *operating.SCENARIOS,
    *on_call.SCENARIOS,
    *jobs.SCENARIOS,
    *health.SCENARIOS,
    *shopping.SCENARIOS,
    *doors.SCENARIOS,
    *clients.SCENARIOS,
    *terminal.SCENARIOS,
    *ending.SCENARIOS,
    *two_persons.SCENARIOS,
]
