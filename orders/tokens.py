"""The tokens of API clients: made once, kept as a digest, checked at every request."""

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
#: How often the time of last use is written.
NOTE_USE_SECONDS = 60
#: The longest that a token may be made good for, unless it is for good.
MOST_DAYS = 3650
#: The longest that an old token, or an old secret of webhooks, may go on beside the new one.
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
    """Make a token; it is returned here and can never be read again."""
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
    """Return the token's row; None when it is unknown, expired, revoked or its client closed."""
    at = now or timezone.now()
    parts = token.split("_", 2)
    if len(parts) != 3 or parts[0] != "sas" or not parts[1].isalnum():
        return None
    found = _with_client().filter(prefix=parts[1][:12]).first()
    if found is None or not hmac.compare_digest(found.digest, _digest(token)):
        return None
    is_over = found.expires_at is not None and found.expires_at <= at
    if is_over or found.revoked_at is not None or not found.client.is_active:
        return None
    _note_use(found, at)
    return found


def _with_client() -> QuerySet[ApiToken]:
    unread = (f"client__{column}" for column in SECRETS)
    return ApiToken.objects.select_related("client").defer(*unread)


def good(client: ApiClient, now: datetime | None = None) -> QuerySet[ApiToken]:
    """Return the tokens of a client that are neither revoked nor over; the newest first."""
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
    """Make a new token with the scopes of the newest, and let the old ones end after a while.

    Raises ``NoToken`` where none is good: what a client may do is never made up here.
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
    """End all good tokens of a client, or one, at once; return how many: 0 is none was good."""
    at = now or timezone.now()
    found = good(client, at).order_by()
    if prefix is not None:
        found = found.filter(prefix=prefix)
    return found.update(revoked_at=at)


@around("tokens.note_use")
def _note_use(token: ApiToken, at: datetime) -> None:
    if token.last_used_at is None or at - token.last_used_at >= timedelta(seconds=NOTE_USE_SECONDS):
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=at)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
