"""The tokens of API clients: issued once, stored as a digest, verified at every request."""

import hashlib
import hmac
import secrets
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone

from orders.models import ApiClient, ApiToken
from orders.models.client import SECRETS
from workers import around, durable

SUBMIT, READ, OPERATE = "submit", "read", "operate"
SCOPES = (SUBMIT, READ, OPERATE)
#: Seconds between writes of the time of last use.
NOTE_USE_SECONDS = 60
#: The longest lifetime of a token that expires.
MOST_DAYS = 3650
#: The longest that an old token or webhook secret stays valid beside the new one.
MOST_OVERLAP_HOURS = 2160


class NoToken(Exception):
    """A client has no good token."""


@around("tokens.issue")
def issue(
    client: ApiClient,
    *,
    scopes: Collection[str] = SCOPES,
    expires_at: datetime | None = None,
    now: datetime | None = None,
) -> str:
    """Issue a token; it is returned here and can never be read again."""
    unknown = set(scopes) - set(SCOPES)
    if unknown:
        raise ValueError(
            f"There is no scope {', '.join(sorted(unknown))}. Choose of: {', '.join(SCOPES)}."
        )
    prefix = secrets.token_hex(4)
    token = f"sas_{prefix}_{secrets.token_urlsafe(32)}"
    ApiToken.objects.create(
        client=client,
        prefix=prefix,
        digest=_digest(token),
        scopes=sorted(scopes),
        created_at=now or timezone.now(),
        expires_at=expires_at,
    )
    return token


def verify(token: str, now: datetime | None = None) -> ApiToken | None:
    """Return the token's row; None if it is unknown, expired, revoked or its client is closed."""
    at = now or timezone.now()
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != "sas" or not parts[1].isalnum():
        return None
    row = _with_client().filter(prefix=parts[1][:12]).first()
    if row is None or not hmac.compare_digest(row.digest, _digest(token)):
        return None
    is_expired = row.expires_at is not None and row.expires_at <= at
    if is_expired or row.revoked_at is not None or not row.client.is_active:
        return None
    _note_use(row, at)
    return row


def _with_client() -> QuerySet[ApiToken]:
    columns = (f"client__{column}" for column in SECRETS)
    return ApiToken.objects.select_related("client").defer(*columns)


def good(client: ApiClient, now: datetime | None = None) -> QuerySet[ApiToken]:
    """Return a client's tokens that are neither revoked nor expired, newest first."""
    at = now or timezone.now()
    is_not_over = Q(expires_at=None) | Q(expires_at__gt=at)
    return client.tokens.filter(is_not_over, revoked_at=None).order_by("-created_at")


@durable("tokens.rotate")
def rotate(
    client: ApiClient,
    overlap: timedelta,
    now: datetime | None = None,
    *,
    expires_at: datetime | None = None,
) -> str:
    """Issue a token with the scopes of the newest, and let the old ones end after ``overlap``.

    Raises ``NoToken`` if no token is good: scopes are never invented here.
    """
    at = now or timezone.now()
    newest = good(client, at).first()
    if newest is None:
        raise NoToken(f"{client} has no good token that another could replace. Issue one.")
    token = issue(client, scopes=newest.scopes, expires_at=expires_at, now=at)
    old = good(client, at).exclude(digest=_digest(token)).order_by()
    old.filter(expires_at=None).update(expires_at=at + overlap)
    old.filter(expires_at__gt=at + overlap).update(expires_at=at + overlap)
    return token


@around("tokens.revoke")
def revoke(client: ApiClient, prefix: str | None = None, now: datetime | None = None) -> int:
    """Revoke all good tokens of a client, or one, at once; return how many there were."""
    at = now or timezone.now()
    rows = good(client, at).order_by()
    if prefix is not None:
        rows = rows.filter(prefix=prefix)
    return rows.update(revoked_at=at)


@around("tokens.note_use")
def _note_use(token: ApiToken, at: datetime) -> None:
    if token.last_used_at is None or at - token.last_used_at >= timedelta(seconds=NOTE_USE_SECONDS):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=at)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
