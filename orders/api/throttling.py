"""The limit of requests per minute and client."""

from orders.models import ApiClient
from workers.views.throttling import TooMany
from workers.views.throttling import count as count_one

__all__ = ["TooMany", "count"]


def count(client: ApiClient, now: float | None = None) -> None:
    """Count one request; raise ``TooMany`` past the client's limit."""
    count_one(f"api-requests:{client.pk}", client.requests_per_minute, now)
