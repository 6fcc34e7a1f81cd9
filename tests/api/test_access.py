"""Who may come in: tokens, their scopes and ends, and how much they may ask."""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from orders import tokens
from orders.api import throttling
from orders.models import ApiClient, ApiToken, Order
from tests.api.conftest import BODY, Caller
from tests.programs import said

Problem = Callable[[Any, int], dict[str, Any]]


run = partial(said, "client")


@pytest.mark.fault("F41")
@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer ",
        "Bearer x",
        "Bearer sas_deadbeef_x",
        "Bearer sas__",
        "Basic YTpi",
        "Bearer \u00fc",
    ],
)
def test_request_without_valid_token_is_refused(header, problem):
    headers = {"Idempotency-Key": "k"} | ({"Authorization": header} if header else {})
    answer = Client().post(
        "/api/v1/orders", json.dumps(BODY), content_type="application/json", headers=headers
    )
    problem(answer, 401)
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert not Order.objects.exists()


@pytest.mark.fault("F41")
def test_a_token_with_another_ending_is_none(acme, problem):
    acme.token = acme.token[:-1] + ("a" if acme.token[-1] != "a" else "b")
    problem(acme.place(), 401)


def test_a_token_is_kept_as_a_digest_only(acme):
    row = ApiToken.objects.get()
    assert acme.token.split("_", 2)[2] not in str(ApiToken.objects.values().get())
    assert len(row.digest) == 64


def test_scopes_say_what_a_token_may(problem):
    placed = Caller().place().json()
    reader = Caller(scopes=("read",))
    assert reader.get(f"/orders/{placed['id']}").status_code == 200
    problem(reader.place("key-2"), 403)
    problem(reader.post(f"/orders/{placed['id']}/cancel"), 403)
    problem(Caller(scopes=("submit",)).get("/orders"), 403)
    assert Order.objects.count() == 1


@pytest.mark.fault("F41")
def test_expired_revoked_and_closed_are_over(acme, problem):
    now = timezone.now()
    ApiToken.objects.update(created_at=now - timedelta(days=2), expires_at=now)
    problem(acme.get("/orders"), 401)
    ApiToken.objects.update(expires_at=None)
    assert acme.get("/orders").status_code == 200
    assert tokens.revoke(acme.client) == 1
    problem(acme.get("/orders"), 401)
    ApiToken.objects.update(revoked_at=None)
    ApiClient.objects.update(is_active=False)
    problem(acme.get("/orders"), 401)


def test_rotation_leaves_the_old_token_its_overlap(acme):
    now = timezone.now()
    new = tokens.rotate(acme.client, timedelta(hours=24), now)
    for token in (acme.token, new):
        assert tokens.verify(token, now + timedelta(hours=23)) is not None
    assert tokens.verify(acme.token, now + timedelta(hours=24)) is None
    assert tokens.verify(new, now + timedelta(days=300)) is not None


def test_the_last_use_is_kept_to_the_minute(acme):
    now = timezone.now()
    tokens.verify(acme.token, now)
    tokens.verify(acme.token, now + timedelta(seconds=59))
    assert ApiToken.objects.get().last_used_at == now
    tokens.verify(acme.token, now + timedelta(seconds=60))
    assert ApiToken.objects.get().last_used_at == now + timedelta(seconds=60)


@pytest.mark.fault("F42")
def test_a_client_that_asks_too_much_waits_and_others_do_not(acme, problem):
    ApiClient.objects.filter(name="acme").update(requests_per_minute=3)
    for _ in range(3):
        throttling.count(ApiClient.objects.get(name="acme"))
    answer = acme.place()
    problem(answer, 429)
    assert 1 <= int(answer["Retry-After"]) <= 60
    assert not Order.objects.exists()
    assert Caller("other").place().status_code == 201


def test_the_next_minute_begins_afresh(acme):
    acme.client.requests_per_minute = 1
    throttling.count(acme.client, 59.0)
    with pytest.raises(throttling.TooMany) as refused:
        throttling.count(acme.client, 59.5)
    assert refused.value.seconds == 1
    throttling.count(acme.client, 60.0)


def test_a_count_that_a_full_cache_has_dropped_begins_again(acme, monkeypatch):
    def add(key: str, value: int, timeout: int) -> bool:
        return cache.delete(key)

    monkeypatch.setattr(cache, "add", add)
    acme.client.requests_per_minute = 1
    throttling.count(acme.client, 60.0)
    throttling.count(acme.client, 60.0)


class TestCommand:
    def test_the_last_line_of_add_is_the_token(self):
        token = run("add", "acme-2").splitlines()[-1]
        found = tokens.verify(token)
        assert found is not None
        assert (found.client.name, found.scopes) == ("acme-2", ["operate", "read", "submit"])

    def test_scopes_and_an_end_can_be_given(self):
        token = run("add", "acme", "--scopes", "read", "--days", "7").splitlines()[-1]
        found = tokens.verify(token)
        assert found is not None
        assert found.scopes == ["read"]
        assert tokens.verify(token, timezone.now() + timedelta(days=8)) is None

    def test_it_is_rotated_listed_and_revoked(self):
        old = run("add", "acme").splitlines()[-1]
        new = run("rotate", "acme", "--overlap-hours", "0.5").splitlines()[-1]
        assert tokens.verify(new) is not None
        listed = json.loads(run("list", "--json"))
        assert len(listed[0]["tokens"]) == 2
        assert old not in run("list")
        assert "revoked" in run("revoke", "acme", "--prefix", new.split("_")[1])
        assert tokens.verify(new) is None
        assert tokens.verify(old) is not None

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (("add", "a b"), "no name"),
            (("add", "x" * 41), "40 characters"),
            (("add", "acme"), "already"),
            (("add", "new", "--scopes", "all"), "--scopes are"),
            (("add", "new", "--days", "0"), "1 or more"),
            (("rotate", "nobody"), "no client nobody"),
            (("rotate", "acme", "--overlap-hours", "-1"), "0 or more"),
            (("revoke", "acme", "--prefix", "nope"), "no such token"),
        ],
        ids=str,
    )
    def test_what_cannot_be_done_says_why(self, acme, words, says):
        before = list(ApiToken.objects.values())
        with pytest.raises(CommandError, match=says):
            run(*words)
        assert list(ApiToken.objects.values()) == before
        assert ApiClient.objects.count() == 1
