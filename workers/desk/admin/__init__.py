"""The engine's admin: incidents, jobs, audit, routes, processes, alerts, flow, health, holds...

It names no order.
"""

from workers.desk.admin import (
    act,
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
    saved_view,
    schedule,
    sink,
    undo_request,
)

__all__ = [
    "act",
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
    "saved_view",
    "schedule",
    "sink",
    "undo_request",
]
