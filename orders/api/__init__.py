"""The HTTP API: programs place, follow and cancel their orders."""

from orders.api.app import api, docs

__all__ = ["api", "docs"]
