"""The actions on API clients and their texts."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from orders import tokens, webhooks
from orders.admin.client_act import Act, ActResult, IssueForm, LimitForm, OverlapForm, RotateForm
from orders.models import ApiClient, ApiToken
from workers import StateError


def _issue(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    token = tokens.issue(client, scopes=data["scopes"], expires_at=data["expires_at"])
    text = _("%(client)s was given the token %(prefix)s, which may %(scopes)s.") % {
        "client": client,
        "prefix": _prefix(token),
        "scopes": ", ".join(sorted(data["scopes"])),
    }
    return ActResult(text, token, _("The token, shown only now"))


def _rotate(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    token = tokens.rotate(client, data["overlap_hours"], expires_at=data["expires_at"])
    text = _("%(client)s was given the token %(prefix)s; its others end in %(hours)s.") % {
        "client": client,
        "prefix": _prefix(token),
        "hours": _hours(data),
    }
    return ActResult(text, token, _("The token, shown only now"))


def _revoke(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    n = tokens.revoke(client, prefix or None)
    if prefix:
        return ActResult(
            _("The token %(prefix)s of %(client)s was revoked.")
            % {"prefix": prefix, "client": client}
        )
    text = ngettext(
        "%(n)d token of %(client)s was revoked.", "%(n)d tokens of %(client)s were revoked.", n
    )
    return ActResult(text % {"n": n, "client": client})


def _activate(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    client.is_active = True
    client.save(update_fields=["is_active"])
    return ActResult(_("%(client)s is active.") % {"client": client})


def _deactivate(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    client.is_active = False
    client.save(update_fields=["is_active"])
    return ActResult(_("%(client)s is no longer active.") % {"client": client})


def _limit(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    before, after = client.requests_per_minute, data["requests_per_minute"]
    if before == after:
        raise StateError(_("No changes."))
    client.requests_per_minute = after
    client.save(update_fields=["requests_per_minute"])
    params = {"client": client, "after": after, "before": before}
    return ActResult(
        _("%(client)s may send %(after)d requests a minute, not %(before)d any more.") % params
    )


def _reveal(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    text = _("The secret of webhooks to %(client)s was shown.") % {"client": client}
    return ActResult(text, client.webhook_secret, _("The secret"))


def _rotate_secret(client: ApiClient, prefix: str, data: dict[str, Any]) -> ActResult:
    try:
        secret = webhooks.rotate(client, data["overlap_hours"])
    except webhooks.SecretPromised as error:
        raise StateError(str(error)) from None
    text = _("Webhooks to %(client)s have a new secret; the old one signs too for %(hours)s.") % {
        "client": client,
        "hours": _hours(data),
    }
    return ActResult(text, secret, _("The new secret"))


def _prefix(token: str) -> str:
    return token.split("_", 2)[1]


def _hours(data: dict[str, Any]) -> str:
    n = round(data["overlap_hours"].total_seconds() / 3600)
    return ngettext("%(n)d hour", "%(n)d hours", n) % {"n": n}


def _never_refused(client: ApiClient, prefix: str) -> str:
    return ""


def _no_good_token(client: ApiClient, prefix: str) -> str:
    if tokens.good(client).exists():
        return ""
    return _("%(client)s has no valid token. Issue one.") % {"client": client}


def _nothing_to_revoke(client: ApiClient, prefix: str) -> str:
    if not prefix:
        return _no_good_token(client, prefix)
    row = ApiToken.objects.filter(client=client, prefix=prefix, revoked_at=None).first()
    if row is None:
        return _("The token %(prefix)s was revoked already.") % {"prefix": prefix}
    if row.expires_at is not None and row.expires_at <= timezone.now():
        return _("The token %(prefix)s has expired already.") % {"prefix": prefix}
    return ""


def _already_active(client: ApiClient, prefix: str) -> str:
    return _("%(client)s is active already.") % {"client": client} if client.is_active else ""


def _already_inactive(client: ApiClient, prefix: str) -> str:
    return "" if client.is_active else _("%(client)s is not active.") % {"client": client}


ACTS = (
    Act(
        "issue",
        lazy("Issue a token"),
        lazy("Issue it"),
        "orders.issue_token",
        lazy("The token is shown once, on the next page. Only a digest of it is kept."),
        _issue,
        _never_refused,
        IssueForm,
    ),
    Act(
        "rotate",
        lazy("Rotate its tokens"),
        lazy("Rotate them"),
        "orders.rotate_token",
        lazy(
            "A new token is shown once, on the next page. It has the scopes of the newest one; all "
            "others end when the overlap is over."
        ),
        _rotate,
        _no_good_token,
        RotateForm,
    ),
    Act(
        "revoke",
        lazy("Revoke all its tokens"),
        lazy("Revoke all"),
        "orders.revoke_token",
        lazy(
            "They end at once and for good: what the client sends next is refused. Orders under "
            "way go on."
        ),
        _revoke,
        _nothing_to_revoke,
        is_grave=True,
    ),
    Act(
        "revoke_one",
        lazy("Revoke"),
        lazy("Revoke it"),
        "orders.revoke_token",
        lazy("It ends at once and for good: the next request with it is refused."),
        _revoke,
        _nothing_to_revoke,
        is_grave=True,
        address="<int:pk>/tokens/<slug:prefix>/revoke/",
    ),
    Act(
        "limit",
        lazy("Set its limit"),
        lazy("Set it"),
        "orders.limit_client",
        lazy("It applies from the next request on. Requests beyond it are told when to retry."),
        _limit,
        _never_refused,
        LimitForm,
    ),
    Act(
        "deactivate",
        lazy("Deactivate"),
        lazy("Deactivate it"),
        "orders.deactivate_client",
        lazy(
            "Whatever it sends is refused until it is active again, and webhooks to it end, for "
            "nobody could check them. Its tokens are kept, and its orders go on."
        ),
        _deactivate,
        _already_inactive,
        is_grave=True,
    ),
    Act(
        "activate",
        lazy("Activate"),
        lazy("Activate it"),
        "orders.activate_client",
        lazy("Its tokens are valid again, unless they are revoked or have expired."),
        _activate,
        _already_active,
    ),
    Act(
        "reveal",
        lazy("Show its webhook secret"),
        lazy("Show it"),
        "orders.reveal_webhook_secret",
        lazy("Anyone who knows the secret can forge our webhooks."),
        _reveal,
        _never_refused,
        address="<int:pk>/webhook-secret/",
    ),
    Act(
        "rotate_secret",
        lazy("Change its webhook secret"),
        lazy("Change it"),
        "orders.rotate_webhook_secret",
        lazy(
            "Webhooks are signed with the new secret and, until the overlap is over, with the "
            "present one as well. While one that is older still signs, this waits for its end; "
            "only an overlap of 0 ends both at once."
        ),
        _rotate_secret,
        _never_refused,
        OverlapForm,
        shown_to="orders.reveal_webhook_secret",
        address="<int:pk>/webhook-secret/rotate/",
    ),
)
