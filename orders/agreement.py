"""What a buyer agreed to at the checkout: products, quantities and prices, as one hash."""

import hashlib
import json
from collections.abc import Iterable
from decimal import Decimal

from django.utils.translation import gettext as _


class OfferChanged(Exception):
    """The order differs from what the buyer agreed to.  Nothing was stored."""

    def __init__(self) -> None:
        super().__init__(_("Your basket or a price has changed. Please check the new total."))


def agreement(lines: Iterable[tuple[str, int, Decimal]]) -> str:
    """Return the hash of lines of sku, quantity and unit price, independent of their order."""
    rows = sorted((sku, quantity, str(price)) for sku, quantity, price in lines)
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
