"""Tokens and webhook secrets in the admin: shown once, to those who may, and kept nowhere."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.sessions.models import Session
from django.utils import timezone

from orders import tokens, webhooks
from orders.admin.client_act import version_of
from orders.models import ApiClient, ApiToken
from tests.admin.conftest import staff
from tests.admin.test_clients import CASES, LIST, filled


def shown(answer: Any) -> str:
    """Return the secret of a page that shows one, and see that the page is kept nowhere."""
    assert answer.status_code == 200
    done = answer.context["done"]
    # Without its beginning: a message would be shown with a capital letter.
    assert answer.content.decode().count(done.secret[1:]) == 1
    assert "no-store" in answer.headers["Cache-Control"]
    assert "private" in answer.headers["Cache-Control"]
    return str(done.secret)


def everything_kept() -> str:
    """Return every row of every table as text, and what every session holds."""
    kept = [
        str(list(model._default_manager.values()))
        for model in apps.get_models()
        if model._meta.managed
    ]
    return "\n".join([*kept, *(json.dumps(one.get_decoded()) for one in Session.objects.all())])


@pytest.mark.parametrize("name", ["issue", "rotate"])
def test_a_token_is_shown_once_and_kept_nowhere(acme, name):
    case = CASES[name]
    client = staff("ann", case.permission)

    token = shown(client.post(case.url(acme), filled(case, acme)))

    found = tokens.verify(token)
    assert found is not None
    assert (found.client, found.scopes) == (acme, ["read"])
    secret = token.split("_", 2)[2]
    assert secret not in everything_kept()
    assert secret not in str(client.cookies)
    for url in (LIST, f"{LIST}{acme.pk}/change/", f"{LIST}{acme.pk}/history/", case.url(acme)):
        assert secret not in client.get(url).content.decode(), url


def test_a_token_ends_when_it_is_told_to(acme):
    case = CASES["issue"]
    form = filled(case, acme, days=3, scopes=["submit", "operate"])
    token = shown(staff("ann", case.permission).post(case.url(acme), form))
    found = tokens.verify(token)
    assert found is not None
    assert found.scopes == ["operate", "submit"]
    assert tokens.verify(token, timezone.now() + timedelta(days=2)) is not None
    assert tokens.verify(token, timezone.now() + timedelta(days=4)) is None


def test_a_rotation_lets_the_old_ones_end_after_the_overlap(acme):
    old = tokens.issue(acme, scopes=["submit", "read"])
    case = CASES["rotate"]
    form = filled(case, acme, days=30)
    new = shown(staff("ann", case.permission).post(case.url(acme), form))
    now = timezone.now()
    for hours, is_old_good in ((3, True), (5, False)):
        assert (tokens.verify(old, now + timedelta(hours=hours)) is not None) is is_old_good
    found = tokens.verify(new, now + timedelta(days=29))
    assert found is not None
    assert found.scopes == ["read", "submit"]
    assert tokens.verify(new, now + timedelta(days=31)) is None


def test_a_rotation_gives_no_scope_that_no_good_token_has(acme):
    wide = tokens.issue(acme, scopes=["submit", "read", "operate"])
    tokens.revoke(acme, wide.split("_")[1])
    found = tokens.verify(tokens.rotate(acme, timedelta(hours=1)))
    assert found is not None
    assert found.scopes == ["read"]
    tokens.revoke(acme)
    before = list(ApiToken.objects.values())
    with pytest.raises(tokens.NoToken):
        tokens.rotate(acme, timedelta(hours=1))
    assert list(ApiToken.objects.values()) == before


def test_a_token_that_is_over_is_not_made_good_again(acme):
    now = timezone.now()
    ApiToken.objects.update(created_at=now - timedelta(days=2), expires_at=now)
    with pytest.raises(tokens.NoToken):
        tokens.rotate(acme, timedelta(hours=1), now)
    assert tokens.revoke(acme, now=now) == 0
    assert ApiToken.objects.get().revoked_at is None


def test_the_webhook_secret_is_in_one_page_only(acme):
    webhooks.rotate(acme, timedelta(hours=1))
    everyone = [case.permission for case in CASES.values()]
    client = staff("ann", "register_client", *everyone)
    urls = [f"{LIST}{acme.pk}/{page}/" for page in ("change", "history", "webhook-secret")]
    for url in (LIST, *urls, *(case.url(acme) for case in CASES.values())):
        html = client.get(url).content.decode()
        assert acme.webhook_secret not in html, url
        assert acme.old_webhook_secret not in html, url
        assert acme.tokens.get().digest not in html, url

    case = CASES["reveal"]
    assert shown(client.post(case.url(acme), filled(case, acme))) == acme.webhook_secret
    entry = LogEntry.objects.get()
    assert entry.change_message == "The secret of webhooks to acme was shown. They rang."
    assert acme.webhook_secret not in json.dumps([s.get_decoded() for s in Session.objects.all()])


def test_a_new_webhook_secret_is_shown_to_those_only_who_may_see_it(acme):
    case = CASES["rotate_secret"]
    old = acme.webhook_secret

    answer = staff("ann", case.permission).post(case.url(acme), filled(case, acme))
    acme.refresh_from_db()
    first = acme.webhook_secret
    both = staff("bob", case.permission, "reveal_webhook_secret")
    seen_now = {"seen": version_of(acme)}
    early = both.post(case.url(acme), filled(case, acme, **seen_now))
    assert early.status_code == 409
    assert "as was promised, until" in early.content.decode()
    assert webhooks.secrets_of("client:acme") == [first, old]
    ApiClient.objects.update(old_webhook_secret_until=timezone.now())
    acme.refresh_from_db()
    seen_now = {"seen": version_of(acme)}
    second = shown(both.post(case.url(acme), filled(case, acme, **seen_now)))

    assert answer.status_code == 302
    assert first != old
    acme.refresh_from_db()
    assert (acme.webhook_secret, acme.old_webhook_secret) == (second, first)
    assert webhooks.secrets_of("client:acme") == [second, first]


def test_a_viewer_sees_no_secret_and_no_way_to_one(acme, viewer):
    form = viewer.get(f"{LIST}{acme.pk}/change/").context["adminform"]
    assert flatten_fieldsets(form.fieldsets) == ["name"]
    for url in (LIST, f"{LIST}{acme.pk}/change/", f"{LIST}{acme.pk}/history/"):
        html = viewer.get(url).content.decode()
        for secret in (acme.webhook_secret, acme.tokens.get().digest, "whsec_"):
            assert secret not in html
        assert "webhook-secret" not in html
        assert "revoke/" not in html


@pytest.mark.parametrize(
    "lookup",
    [
        "webhook_secret__startswith",
        "webhook_secret",
        "old_webhook_secret__contains",
        "tokens__digest__startswith",
        "tokens__prefix",
    ],
)
def test_a_secret_cannot_be_guessed_by_filtering(acme, viewer, lookup):
    answer = viewer.get(LIST, {lookup: "w"})
    assert answer.status_code == 400


def test_searching_does_not_find_secrets(acme, viewer):
    for term in (acme.webhook_secret[:12], acme.tokens.get().digest[:12]):
        assert viewer.get(LIST, {"q": term}).context["cl"].result_count == 0
