"""What the doctor looks at of the shop."""

from orders.doctor import shop, submissions

__all__ = ["shop", "submissions"]
