"""Programs that place orders, and their tokens."""

import base64
import secrets

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


def new_webhook_secret() -> str:
    """Return a secret in the format of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


#: Columns loaded only to sign or show them: most database logins may not read them.
SECRETS = ("webhook_secret", "old_webhook_secret")


class ClientManager(models.Manager["ApiClient"]):
    """API clients with deferred secrets."""

    def get_queryset(self) -> models.QuerySet["ApiClient"]:
        return super().get_queryset().defer(*SECRETS)


class ApiClient(models.Model):
    """A program that may use the HTTP API; it sees its own orders only."""

    name = models.SlugField(max_length=40, unique=True)
    is_active = models.BooleanField(default=True)
    requests_per_minute = models.PositiveIntegerField(default=600)
    #: Signs webhooks to this client, base64; the old secret signs as well until the time below.
    webhook_secret = models.CharField(max_length=100, default=new_webhook_secret)
    old_webhook_secret = models.CharField(max_length=100, blank=True)
    old_webhook_secret_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField()

    objects = ClientManager()

    class Meta:
        verbose_name = "API client"
        ordering = ["name"]
        # Not "view_webhook_secret": viewers are granted every permission that begins with view_.
        permissions = [
            ("register_client", _("Can register API clients")),
            ("activate_client", _("Can activate API clients")),
            ("deactivate_client", _("Can deactivate API clients")),
            ("limit_client", _("Can set how much an API client may ask")),
            ("issue_token", _("Can issue tokens to API clients")),
            ("rotate_token", _("Can rotate the tokens of API clients")),
            ("revoke_token", _("Can revoke tokens of API clients")),
            ("reveal_webhook_secret", _("Can see what webhooks to API clients are signed with")),
            ("rotate_webhook_secret", _("Can change what webhooks to API clients are signed with")),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def submitter(self) -> str:
        """Return the value of ``Order.submitter`` for the client's orders."""
        return f"client:{self.name}"


class ApiToken(models.Model):
    """A client's token: stored as its digest, and its prefix to find it by."""

    client = models.ForeignKey(ApiClient, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=12, unique=True)
    #: SHA-256 of the whole token, which has 256 random bits.
    digest = models.CharField(max_length=64)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    #: To the minute.
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "API token"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                name="token_expires_after_created",
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}... of {self.client_id}"
