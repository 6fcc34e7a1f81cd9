"""The secrets that sign webhooks to API clients."""

from datetime import datetime, timedelta

from django.utils import timezone

from orders.models import ApiClient
from orders.models.client import new_webhook_secret
from orders.telling import CLIENT
from workers import durable, register_secrets


class SecretPromised(Exception):
    """The promised overlap of an old secret is not over."""


@register_secrets
def secrets_of(owner: str) -> list[str]:
    """Return a client's secret and, during an overlap, the old one; none if it is closed."""
    if not owner.startswith(CLIENT):
        return []
    clients = ApiClient.objects.defer(None).filter(is_active=True)
    client = clients.filter(name=owner.removeprefix(CLIENT)).first()
    if client is None:
        return []
    is_overlap = promised_until(client) is not None
    return [client.webhook_secret, *([client.old_webhook_secret] if is_overlap else [])]


def promised_until(client: ApiClient, now: datetime | None = None) -> datetime | None:
    """Return until when a client's old secret signs as well; None: no longer."""
    until = client.old_webhook_secret_until
    return until if until is not None and until > (now or timezone.now()) else None


@durable("webhooks.rotate")
def rotate(client: ApiClient, overlap: timedelta, now: datetime | None = None) -> str:
    """Give a client a new secret; until the overlap is over, the old one signs as well.

    Raises ``SecretPromised``, and changes nothing, while an older one still signs, because the
    client may rely on it.  Without an overlap both end at once, as is needed after a leak.
    """
    at = now or timezone.now()
    row = ApiClient.objects.defer(None).select_for_update().get(pk=client.pk)
    until = promised_until(row, at)
    if until is not None and overlap > timedelta(0):
        raise SecretPromised(
            f"Webhooks to {row} are signed with an older secret, too, as was promised, until"
            f" {until:%Y-%m-%d %H:%M} UTC. Rotate after that, or with an overlap of 0, which ends"
            " both old ones at once."
        )
    client.old_webhook_secret = row.webhook_secret
    client.old_webhook_secret_until = at + overlap
    client.webhook_secret = new_webhook_secret()
    client.save(update_fields=["webhook_secret", "old_webhook_secret", "old_webhook_secret_until"])
    return client.webhook_secret
