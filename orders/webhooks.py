"""The secrets that webhooks to API clients are signed with."""

from datetime import datetime, timedelta

from django.utils import timezone

from orders.models import ApiClient
from orders.models.client import new_webhook_secret
from orders.telling import CLIENT
from workers.failpoints import around
from workers.registry import register_secrets


@register_secrets
def secrets_of(owner: str) -> list[str]:
    """Return the present secret of a client and, for a while, the one before; none if closed."""
    if not owner.startswith(CLIENT):
        return []
    client = ApiClient.objects.filter(name=owner.removeprefix(CLIENT), is_active=True).first()
    if client is None:
        return []
    until = client.old_webhook_secret_until
    is_overlap = client.old_webhook_secret and until is not None and until > timezone.now()
    return [client.webhook_secret, *([client.old_webhook_secret] if is_overlap else [])]


@around("webhooks.rotate")
def rotate(client: ApiClient, overlap: timedelta, now: datetime | None = None) -> str:
    """Give a client a new secret; until the overlap is over the old one signs as well."""
    client.old_webhook_secret = client.webhook_secret
    client.old_webhook_secret_until = (now or timezone.now()) + overlap
    client.webhook_secret = new_webhook_secret()
    client.save(update_fields=["webhook_secret", "old_webhook_secret", "old_webhook_secret_until"])
    return client.webhook_secret
