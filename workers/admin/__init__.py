"""The engine's admin: processes, alerts, flow and leases.  It names no order."""

from workers.admin import alert, flow, lease, process

__all__ = ["alert", "flow", "lease", "process"]
