"""The billing service: issuing an invoice, and voiding it."""

from collections.abc import Callable

from workers.http import Answer, post


def issue(
    base_url: str, *, order: int, amount: str, key: str, remaining: Callable[[], float]
) -> Answer:
    """Issue the invoice of an order over its total, a decimal string."""
    body = {"order": order, "amount": amount}
    return post(base_url.rstrip("/") + "/billing/issue", json=body, key=key, remaining=remaining)


def void(
    base_url: str,
    *,
    order: int,
    key: str,
    undoes: str,
    remaining: Callable[[], float],
    reference: str | None = None,
) -> Answer:
    """Undo the invoice that was issued, or might have been, with the key ``undoes``.

    ``reference`` is the service's own, where it is known.
    """
    body = {"order": order, "undoes": undoes, "reference": reference}
    return post(base_url.rstrip("/") + "/billing/void", json=body, key=key, remaining=remaining)
