"""A carrier: booking a parcel, and cancelling it.

The shipping service and the courier, its fallback, have the same API; ``carrier`` selects one.
"""

from collections.abc import Callable
from typing import Literal

from workers.http import Answer, post

Carrier = Literal["shipping", "courier"]


def book(
    base_url: str,
    *,
    order: int,
    address: str,
    key: str,
    remaining: Callable[[], float],
    carrier: Carrier = "shipping",
) -> Answer:
    """Book a parcel to an address.  An address the carrier cannot reach is ``Permanent``."""
    body = {"order": order, "address": address}
    return post(base_url.rstrip("/") + f"/{carrier}/book", json=body, key=key, remaining=remaining)


def cancel(
    base_url: str,
    *,
    order: int,
    key: str,
    undoes: str,
    reference: str | None = None,
    remaining: Callable[[], float],
    carrier: Carrier = "shipping",
) -> Answer:
    """Undo the booking that was made, or might have been, with the key ``undoes``.

    ``reference`` is the service's own, where it is known.
    """
    body = {"order": order, "undoes": undoes, "reference": reference}
    return post(
        base_url.rstrip("/") + f"/{carrier}/cancel", json=body, key=key, remaining=remaining
    )
