"""The engine's admin: incidents, processes, alerts, flow, holds, leases and sinks.

It names no order.
"""

from workers.admin import alert, flow, hold, incident, lease, process, sink

__all__ = ["alert", "flow", "hold", "incident", "lease", "process", "sink"]
