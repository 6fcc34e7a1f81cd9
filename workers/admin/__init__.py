"""The engine's admin: incidents, jobs, routes, processes, alerts, flow, holds, leases and sinks.

It names no order.
"""

from workers.admin import (
    alert,
    delivery,
    flow,
    hold,
    incident,
    job,
    lease,
    preferences,
    process,
    route,
    sink,
)

__all__ = [
    "alert",
    "delivery",
    "flow",
    "hold",
    "incident",
    "job",
    "lease",
    "preferences",
    "process",
    "route",
    "sink",
]
