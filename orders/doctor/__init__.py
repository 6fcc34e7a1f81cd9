"""What the doctor looks at of the shop."""

from orders.doctor import shop

__all__ = ["shop"]
