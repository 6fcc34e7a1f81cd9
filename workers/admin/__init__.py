"""The engine's admin: processes, alerts, flow, holds, leases and sinks.  It names no order."""

from workers.admin import alert, flow, hold, lease, process, sink

__all__ = ["alert", "flow", "hold", "lease", "process", "sink"]
