"""The shop's probes for the doctor."""

from orders.doctor import shop, submissions

__all__ = ["shop", "submissions"]
