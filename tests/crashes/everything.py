"""Every scenario, and the points that none of them can reach."""

from django.db import connection

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

#: A database settles what is plain by one of them or by the other.
EITHER = {"settling.settle", "plain.settle"}

#: Point without its stop -> why nothing is killed there.
EXCUSED: dict[str, str] = (
    {} if connection.vendor == "postgresql" else {"plain.settle": "PostgreSQL's alone"}
)
