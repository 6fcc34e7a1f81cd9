"""Every scenario, and the points that none of them can reach."""

from django.db import connection

from tests.crashes import (
    clients,
    doors,
    ending,
    forward,
    jobs,
    mishaps,
    on_call,
    operating,
    shopping,
)
from tests.crashes.scenario import Scenario

SCENARIOS: list[Scenario] = [
    *forward.SCENARIOS,
    *mishaps.SCENARIOS,
    *operating.SCENARIOS,
    *on_call.SCENARIOS,
    *jobs.SCENARIOS,
    *shopping.SCENARIOS,
    *doors.SCENARIOS,
    *clients.SCENARIOS,
    *ending.SCENARIOS,
]

#: A database does what is plain by one of a pair or by the other.
EITHER = (
    {"settle_replies.settle", "settle_fast.settle"},
    {"claim_steps.claim_due", "claim_fast.claim_due"},
)

#: Point without its stop -> why nothing is killed there.
EXCUSED: dict[str, str] = (
    {}
    if connection.vendor == "postgresql"
    else dict.fromkeys(("settle_fast.settle", "claim_fast.claim_due"), "PostgreSQL's alone")
)
