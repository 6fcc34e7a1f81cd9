"""Toward a thousand times the load: a calculation from the CPU time that an order cost here.

It assumes that the cost of an order stays what it is, which the case ``growth`` looks at, and
that processes, brokers and databases are added as the load grows.
"""

import math
from collections.abc import Mapping
from typing import Any

from benchmarks.report.table import Table
from benchmarks.shape import STEPS

#: Orders a second: the load of a busy shop, and 10, 100 and 1,000 times that.
LOADS = (10, 100, 1_000, 10_000)
#: Share of a core that is used; the rest is for peaks and for catching up after an outage.
USED = 0.6
#: Cores of one database server before its orders are spread over more.
CORES = 32
#: What a call of a real service takes.
CALL_SECONDS = 0.5
ROLES = {
    "scheduler": "Scheduler",
    "agents": "agents",
    "postgres": "PostgreSQL",
    "rabbitmq": "RabbitMQ",
}


def table(found: Mapping[str, Any]) -> Table | None:
    """Return cores of each role by load; None where the cost of an order was not measured.

    From the regime that users have: orders that come one by one, at the largest steady load.
    """
    costs = _costs(found)
    if not costs or any(role not in costs for role in ROLES):
        return None
    rows = []
    for load in LOADS:
        cores = {role: load * costs[role] / 1000 / USED for role in ROLES}
        rows.append(
            (
                f"{load:,}",
                *(f"{math.ceil(cores[role]):,}" for role in ROLES),
                f"{math.ceil(cores['postgres'] / CORES):,}",
                f"{math.ceil(load * STEPS * CALL_SECONDS / USED):,}",
            )
        )
    heads = (*(f"cores of {name}" for name in ROLES.values()), "databases", "slots")
    note = (
        f"Cores are used to {USED:.0%}; a database has {CORES}; slots are for calls of"
        f" {CALL_SECONDS:g} s, and cost memory, not cores. Calculated, not measured."
    )
    return Table("Toward a thousand times the load", ("orders/s", *heads), rows, note)


def _costs(found: Mapping[str, Any]) -> Mapping[str, float] | None:
    steady = [one for one in found["rounds"] if one["name"] == "ours" and "steady" in one["case"]]
    return steady[-1]["cpu_ms_per_order"] if steady else None
