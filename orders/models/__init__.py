"""The shop's tables.

An order has no status column: its state is its process's, read through ``Order.process``.
"""

from orders.models.client import ApiClient, ApiToken
from orders.models.dead_letter import DeadLetter, DroppedLetters
from orders.models.order import Order, OrderLine, Reservation, Return, new_secret
from orders.models.product import Product
from orders.models.rate_count import RateCount

__all__ = [
    "ApiClient",
    "ApiToken",
    "DeadLetter",
    "DroppedLetters",
    "Order",
    "OrderLine",
    "Product",
    "RateCount",
    "Reservation",
    "Return",
    "new_secret",
]
