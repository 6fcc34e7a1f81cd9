"""The basket: products and quantities in a visitor's session, until they are ordered.

It reserves nothing: stock is taken when the order is processed.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.sessions.backends.base import SessionBase
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from orders.agreement import agreement
from orders.models import Product

MAX_QUANTITY = 99
MAX_LINES = 50
SESSION_KEY = "basket"
ORDER_KEY = "basket_order_key"


class BasketFull(Exception):
    """The basket has no room for more; it was not changed."""


@dataclass(frozen=True, slots=True)
class BasketLine:
    """A product in the basket at its current price."""

    product: Product
    quantity: int

    @property
    def amount(self) -> Decimal:
        return self.product.price * self.quantity

    @property
    def problem(self) -> str:
        """Return why this line cannot be ordered now; empty if it can."""
        if not self.product.is_listed:
            return _("This is no longer sold.")
        if self.product.stock == 0:
            return _("This is sold out.")
        if self.product.stock < self.quantity:
            return ngettext(
                "Only %(stock)d is left.", "Only %(stock)d are left.", self.product.stock
            ) % {"stock": self.product.stock}
        return ""


class Basket:
    """A visitor's basket: quantities by SKU, in the order in which they were added."""

    def __init__(self, session: SessionBase) -> None:
        self._session = session
        self._quantities: dict[str, int] = dict(session.get(SESSION_KEY, {}))

    def __len__(self) -> int:
        """Count the pieces, not the lines."""
        return sum(self._quantities.values())

    @property
    def order_key(self) -> str:
        """The submission key of the order that this basket becomes.

        Every checkout page of this basket carries it, so that two sent at the same moment become
        one order: the key is unique in the order's own transaction.
        """
        key: str = self._session.setdefault(ORDER_KEY, str(uuid.uuid4()))
        return key

    def quantity(self, sku: str) -> int:
        return self._quantities.get(sku, 0)

    def add(self, sku: str, quantity: int) -> None:
        """Add ``quantity`` of a product.  Raises ``BasketFull``."""
        if sku not in self._quantities and len(self._quantities) >= MAX_LINES:
            raise BasketFull(
                _("A basket holds at most %(limit)d different products.") % {"limit": MAX_LINES}
            )
        total = self.quantity(sku) + quantity
        if total > MAX_QUANTITY:
            raise BasketFull(
                _("You can order at most %(limit)d of one product.") % {"limit": MAX_QUANTITY}
            )
        self._store({**self._quantities, sku: total})

    def update(self, quantities: Mapping[str, int]) -> None:
        """Set the quantities of products that are in the basket; others are ignored."""
        changes = {sku: quantities[sku] for sku in self._quantities if sku in quantities}
        self._store({**self._quantities, **changes})

    def remove(self, sku: str) -> None:
        self._store({key: value for key, value in self._quantities.items() if key != sku})

    def ordered(self, key: str) -> None:
        """Begin a new basket if ``key`` is this one's submission key."""
        if key == self._session.get(ORDER_KEY):
            self.clear()

    def clear(self) -> None:
        """Begin a new basket with a new submission key."""
        self._store({})
        del self._session[ORDER_KEY]

    def lines(self) -> list[BasketLine]:
        """Return the lines whose product still exists."""
        products = Product.objects.in_bulk(self._quantities, field_name="sku")
        return [
            BasketLine(products[sku], quantity)
            for sku, quantity in self._quantities.items()
            if sku in products
        ]

    def _store(self, quantities: dict[str, int]) -> None:
        self._quantities = quantities
        self._session[SESSION_KEY] = quantities
        # Create the key with the basket: two pages opened at once would create two.
        _ = self.order_key


def offer(lines: list[BasketLine]) -> str:
    """Return the agreement of a buyer who is shown these lines."""
    return agreement((line.product.sku, line.quantity, line.product.price) for line in lines)


def total(lines: list[BasketLine]) -> Decimal:
    return sum((line.amount for line in lines), Decimal(0))
