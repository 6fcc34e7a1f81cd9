"""The engine's admin: incidents, jobs, routes, processes, alerts, flow, health, holds, sinks.

It names no order.
"""

from workers.admin import (
    alert,
    delivery,
    flow,
    health,
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
    "health",
    "hold",
    "incident",
    "job",
    "lease",
    "preferences",
    "process",
    "route",
    "sink",
]
