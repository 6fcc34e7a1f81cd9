"""The shop's agents, one file per remote service.  Importing the package registers them."""

from orders.agents import billing, confirmation, payment, returns, review, shipping, stock

__all__ = ["billing", "confirmation", "payment", "returns", "review", "shipping", "stock"]
