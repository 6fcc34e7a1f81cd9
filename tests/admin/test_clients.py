"""API clients in the admin: who sees what, who may do what, once, and with a reason."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from orders import tokens, webhooks
from orders.admin.client_act import version_of
from orders.admin.client_acts import ACTS
from orders.models import ApiClient, ApiToken
from tests.admin.conftest import staff

LIST = "/admin/orders/apiclient/"


@dataclass(frozen=True)
class Case:
    address: Callable[[ApiClient], str]
    permission: str
    form: dict[str, Any] = field(default_factory=dict)
    #: What has changed afterwards, of the client and of its tokens.
    changed: frozenset[str] = frozenset()
    begin: Callable[[ApiClient], Any] = lambda client: None
    shows: bool = False

    def url(self, client: ApiClient) -> str:
        return f"{LIST}{client.pk}/{self.address(client)}"


def at(address: str) -> Callable[[ApiClient], str]:
    return lambda client: address


def of_token(client: ApiClient) -> str:
    return f"tokens/{client.tokens.get().prefix}/revoke/"


def close(client: ApiClient) -> None:
    ApiClient.objects.filter(pk=client.pk).update(is_active=False)


SECRETS = frozenset({"webhook_secret", "old_webhook_secret", "old_webhook_secret_until"})
CASES = {
    "issue": Case(
        at("issue/"), "issue_token", {"scopes": ["read"]}, frozenset({"tokens"}), shows=True
    ),
    "rotate": Case(
        at("rotate/"), "rotate_token", {"overlap_hours": 4}, frozenset({"tokens"}), shows=True
    ),
    "revoke": Case(at("revoke/"), "revoke_token", {}, frozenset({"tokens"})),
    "revoke_one": Case(of_token, "revoke_token", {}, frozenset({"tokens"})),
    "limit": Case(
        at("limit/"), "limit_client", {"requests_per_minute": 7}, frozenset({"requests_per_minute"})
    ),
    "deactivate": Case(at("deactivate/"), "deactivate_client", {}, frozenset({"is_active"})),
    "activate": Case(at("activate/"), "activate_client", {}, frozenset({"is_active"}), begin=close),
    "reveal": Case(at("webhook-secret/"), "reveal_webhook_secret", {}, shows=True),
    "rotate_secret": Case(
        at("webhook-secret/rotate/"), "rotate_webhook_secret", {"overlap_hours": 4}, SECRETS
    ),
}


@pytest.fixture(params=sorted(CASES))
def case(request, acme) -> Case:
    found = CASES[request.param]
    found.begin(acme)
    acme.refresh_from_db()
    return found


def filled(case: Case, client: ApiClient, **changes: Any) -> dict[str, Any]:
    return {"reason": "They rang.", "seen": version_of(client), **case.form, **changes}


def rows() -> dict[str, Any]:
    """Return every client with its tokens, column by column, and the log."""
    found = {
        row["name"]: {**row, "tokens": list(ApiToken.objects.filter(client=row["id"]).values())}
        for row in ApiClient.objects.values()
    }
    return {**found, "log": list(LogEntry.objects.values())}


def test_every_act_has_its_case_and_a_permission():
    assert set(CASES) == {act.name for act in ACTS}
    for act in ACTS:
        assert act.permission == f"orders.{CASES[act.name].permission}"


def test_permitted_user_acts_on_client_and_act_is_logged(case, acme):
    client = staff("ann", case.permission)
    assert client.get(case.url(acme)).status_code == 200
    before = rows()["acme"]

    answer = client.post(case.url(acme), filled(case, acme))

    assert answer.status_code == (200 if case.shows else 302)
    after = rows()["acme"]
    assert {name for name in after if after[name] != before[name]} == case.changed
    entry = LogEntry.objects.get()
    assert (entry.user.get_username(), entry.object_id) == ("ann", str(acme.pk))
    assert entry.change_message.endswith("They rang.")
    assert "acme" in entry.change_message


@pytest.mark.parametrize("method", ["get", "post"])
def test_user_with_all_other_permissions_cannot_act_on_client(case, acme, method):
    others = {other.permission for other in CASES.values()} - {case.permission}
    client = staff("vic", "register_client", "change_apiclient", "add_apiclient", *others)
    before = rows()

    answer = getattr(client, method)(case.url(acme), filled(case, acme))

    assert answer.status_code == 403
    assert rows() == before


def test_nothing_is_done_by_looking(case, acme):
    before = rows()
    answer = staff("ann", case.permission).get(case.url(acme), filled(case, acme))
    assert answer.status_code == 200
    assert rows() == before
    assert acme.webhook_secret not in answer.content.decode()


def test_a_form_from_elsewhere_is_refused(case, acme):
    client = staff("ann", case.permission)
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    before = rows()
    assert strict.post(case.url(acme), filled(case, acme)).status_code == 403
    assert rows() == before


@pytest.mark.parametrize(
    "changes", [{"reason": ""}, {"reason": "x" * 501}, {"reason": "a\0b"}, {"seen": ""}]
)
def test_a_form_without_what_it_needs_changes_nothing(case, acme, changes):
    before = rows()
    answer = staff("ann", case.permission).post(case.url(acme), filled(case, acme, **changes))
    assert answer.status_code == 400
    assert rows() == before


def test_a_page_that_is_sent_again_does_nothing_again(case, acme):
    client = staff("ann", case.permission)
    form = filled(case, acme)
    client.post(case.url(acme), form)
    before = rows()

    again = client.post(case.url(acme), form)

    if not case.changed:
        assert again.status_code == 200  # showing a secret changes nothing to be refused for
        assert rows()["acme"] == before["acme"]
        return
    assert again.status_code == 409
    assert "nothing was changed" in again.content.decode()
    assert rows() == before


def test_what_was_changed_meanwhile_is_left_alone(case, acme):
    form = filled(case, acme)
    webhooks.rotate(acme, timedelta(hours=1))
    before = rows()

    answer = staff("ann", case.permission).post(case.url(acme), form)

    assert answer.status_code == 409
    assert "changed since the page was opened" in answer.content.decode()
    assert rows() == before


def test_what_cannot_be_logged_is_not_done(case, acme, monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the log is full")

    monkeypatch.setattr("orders.admin.client_act.write_log", fail)
    client = staff("ann", case.permission)
    before = rows()
    with pytest.raises(RuntimeError):
        client.post(case.url(acme), filled(case, acme))
    assert rows() == before


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("issue", {"scopes": []}),
        ("issue", {"scopes": ["all"]}),
        ("issue", {"days": "0"}),
        ("issue", {"days": "99999999999"}),
        ("rotate", {"overlap_hours": "-1"}),
        ("rotate", {"overlap_hours": "2161"}),
        ("rotate", {"overlap_hours": "nan"}),
        ("rotate", {"days": "x"}),
        ("limit", {"requests_per_minute": "0"}),
        ("limit", {"requests_per_minute": "1000001"}),
        ("rotate_secret", {"overlap_hours": ""}),
    ],
)
def test_a_bad_value_is_named_and_changes_nothing(acme, name, bad):
    case = CASES[name]
    before = rows()
    answer = staff("ann", case.permission).post(case.url(acme), filled(case, acme, **bad))
    assert answer.status_code == 400
    assert set(answer.context["form"].errors) == set(bad)
    assert rows() == before


@pytest.mark.parametrize(
    ("name", "begin", "says"),
    [
        ("rotate", tokens.revoke, "no valid token"),
        ("revoke", tokens.revoke, "no valid token"),
        ("revoke_one", tokens.revoke, "was revoked already"),
        ("activate", lambda client: None, "is active already"),
        ("deactivate", close, "is not active"),
    ],
)
def test_what_is_not_possible_is_said_and_not_offered(acme, name, begin, says):
    case = CASES[name]
    begin(acme)
    acme.refresh_from_db()
    client = staff("ann", case.permission)
    before = rows()

    page = client.get(case.url(acme)).content.decode()
    answer = client.post(case.url(acme), filled(case, acme))

    assert says in page
    assert '<button type="submit" class="button default' not in page
    assert answer.status_code == 409
    assert says in answer.content.decode()
    assert rows() == before
    assert case.url(acme) not in client.get(f"{LIST}{acme.pk}/change/").content.decode()


def test_a_limit_that_is_the_same_is_no_change(acme):
    case = CASES["limit"]
    form = filled(case, acme, requests_per_minute=acme.requests_per_minute)
    assert staff("ann", case.permission).post(case.url(acme), form).status_code == 409
    assert not LogEntry.objects.exists()


def test_a_token_of_another_client_is_not_found(acme):
    other = ApiClient.objects.create(name="other", created_at=timezone.now())
    tokens.issue(other)
    url = f"{LIST}{acme.pk}/{of_token(other)}"
    client = staff("ann", "revoke_token")
    before = rows()
    assert client.get(url).status_code == 404
    assert client.post(url, filled(CASES["revoke_one"], acme)).status_code == 404
    assert rows() == before


def test_one_token_is_revoked_and_the_others_go_on(acme):
    old = acme.tokens.get()
    new = tokens.issue(acme)
    url = f"{LIST}{acme.pk}/tokens/{old.prefix}/revoke/"
    staff("ann", "revoke_token").post(url, filled(CASES["revoke_one"], acme))
    old.refresh_from_db()
    assert old.revoked_at is not None
    assert tokens.verify(new) is not None
