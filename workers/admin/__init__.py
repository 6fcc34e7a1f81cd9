"""The engine's admin: processes, alerts, flow, holds and leases.  It names no order."""

from workers.admin import alert, flow, hold, lease, process

__all__ = ["alert", "flow", "hold", "lease", "process"]
