"""The payment service: charging a card, and refunding the charge."""

from collections.abc import Callable

from workers.http import Answer, post


def charge(
    base_url: str,
    *,
    order: int,
    amount: str,
    key: str,
    remaining: Callable[[], float],
    card: str | None = None,
) -> Answer:
    """Charge an order's total, a decimal string.  A declined card is ``Permanent``."""
    body = {"order": order, "amount": amount} | ({} if card is None else {"card": card})
    return post(base_url.rstrip("/") + "/payment/charge", json=body, key=key, remaining=remaining)


def refund(
    base_url: str,
    *,
    order: int,
    amount: str,
    key: str,
    undoes: str,
    reference: str | None = None,
    remaining: Callable[[], float],
) -> Answer:
    """Undo the charge that was made, or might have been, with the key ``undoes``.

    ``reference`` is the service's own, where it is known.
    """
    body = {"order": order, "amount": amount, "undoes": undoes, "reference": reference}
    return post(base_url.rstrip("/") + "/payment/refund", json=body, key=key, remaining=remaining)
