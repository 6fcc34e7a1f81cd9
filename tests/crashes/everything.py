"""Every scenario."""

from tests.crashes import (
    children,
    clients,
    doors,
    ending,
    forward,
    health,
    jobs,
    keyed,
    mishaps,
    neighbours,
    on_call,
    operating,
    own_choices,
    room,
    scheduled,
    shopping,
    terminal,
    two_persons,
)
from tests.crashes.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *forward.SCENARIOS,
    *mishaps.SCENARIOS,
    *operating.SCENARIOS,
    *own_choices.SCENARIOS,
    *on_call.SCENARIOS,
    *jobs.SCENARIOS,
    *health.SCENARIOS,
    *shopping.SCENARIOS,
    *doors.SCENARIOS,
    *clients.SCENARIOS,
    *terminal.SCENARIOS,
    *ending.SCENARIOS,
    *two_persons.SCENARIOS,
    *neighbours.SCENARIOS,
    *room.SCENARIOS,
    *keyed.SCENARIOS,
    *children.SCENARIOS,
    *scheduled.SCENARIOS,
]
