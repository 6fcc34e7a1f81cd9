"""Routes and deliveries in the admin: set, tested and looked at, with nothing secret shown."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.admin.conftest import staff
from tests.on_call.conftest import NOW, SECRET, incident, member, route, rows
from workers.desk.models import Delivery, Route
from workers.desk.notify import incident_sender as senders
from workers.desk.store.delivery_plans import plan
from workers.models import Journal
from workers.notify.senders.delivery import Answer, Undelivered

LIST = "/admin/desk/route/"
DELIVERIES = "/admin/desk/delivery/"
FORM = {
    "name": "night",
    "kind": "mail",
    "address": "ops@example.org",
    "secret": "",
    "least_severity": "3",
    "time_zone": "UTC",
    "language": "",
    "repeat_seconds": "0",
    "digest_seconds": "0",
    "hourly_limit": "20",
    "is_active": "on",
}


@pytest.fixture
def keeper() -> Client:
    """Somebody who may do everything with routes."""
    return staff("keeper", "add_route", "change_route", "delete_route", "test_route", "mute_route")


@pytest.fixture
def viewer() -> Client:
    return staff("viewer")


def all_routes() -> list[dict[str, Any]]:
    return list(Route.objects.order_by("pk").values())


def errors(response: Any) -> dict[str, Any]:
    return dict(response.context["adminform"].form.errors)


def test_a_route_is_added_and_that_is_in_the_journal(keeper):
    form = FORM | {
        "kinds": ["failure", "agent"],
        "agents": ["payment.charge"],
        "quiet_from": "22:00",
        "quiet_to": "07:00",
        "time_zone": "Europe/Paris",
        "repeat_seconds": "900",
    }
    response = keeper.post(f"{LIST}add/", form)

    assert response.status_code == 302
    row = Route.objects.get()
    assert (row.name, row.kind, row.address, row.kinds, row.agents) == (
        *("night", "mail", "ops@example.org"),
        *(["failure", "agent"], ["payment.charge"]),
    )
    assert (str(row.quiet_from), str(row.quiet_to), row.repeat_seconds) == (
        "22:00:00",
        "07:00:00",
        900,
    )
    entry = Journal.objects.get()
    assert (entry.event, entry.actor, entry.process_id) == ("route_set", "operator:keeper", None)
    assert entry.detail == {"route": "night", "kind": "mail"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"address": ""}, "address"),
        ({"address": "ops@example.org, nobody"}, "address"),
        ({"kind": "slack", "address": "ftp://example.org"}, "address"),
        ({"kind": "slack", "address": "http://10.0.0.1/x"}, "address"),
        ({"kind": "webhook", "address": "https://198.51.100.1/x"}, "address"),
        ({"kind": "webhook", "address": "https://8.8.8.8/x", "secret": "short"}, "secret"),
        ({"kind": "pagerduty", "address": "https://8.8.8.8/"}, "secret"),
        (
            {"kind": "pagerduty", "address": "", "secret": "k", "digest_seconds": "60"},
            "digest_seconds",
        ),
        ({"time_zone": "Atlantis"}, "time_zone"),
        ({"quiet_from": "22:00"}, "quiet_to"),
        ({"repeat_seconds": "9999999"}, "repeat_seconds"),
        ({"hourly_limit": "0"}, "hourly_limit"),
        ({"kinds": ["nonsense"]}, "kinds"),
    ],
)
@override_settings(SAS_WEBHOOK_PRIVATE_ADDRESSES=False)
def test_what_could_not_be_told_is_refused(keeper, changes, field):
    response = keeper.post(f"{LIST}add/", FORM | changes)
    assert response.status_code == 200
    assert list(errors(response)) == [field]
    assert all_routes() == []


def test_a_webhook_gets_a_secret_that_is_shown_once(keeper):
    form = FORM | {"kind": "webhook", "address": "https://8.8.8.8/hook"}
    response = keeper.post(f"{LIST}add/", form, follow=True)
    secret = Route.objects.get().secret
    assert secret.startswith("whsec_")
    assert secret in response.content.decode()
    assert secret not in keeper.get(LIST).content.decode()


@pytest.mark.parametrize("kind", ["webhook", "slack", "teams", "pagerduty"])
def test_nothing_that_is_secret_is_shown_again_and_nothing_of_it_is_lost(keeper, viewer, kind):
    row = route("night", kind, address="https://8.8.8.8/very/secret?token=1")
    url = reverse("admin:desk_route_change", args=[row.pk])
    for client in (keeper, viewer):
        for page in (LIST, url, f"{url.removesuffix('change/')}history/"):
            content = client.get(page).content.decode()
            assert "very/secret" not in content
            assert SECRET not in content
    assert "https://8.8.8.8/…" in keeper.get(url).content.decode()

    shown = FORM | {"kind": kind, "address": "https://8.8.8.8/…", "hourly_limit": "5"}
    assert keeper.post(url, shown).status_code == 302

    row.refresh_from_db()
    assert (row.address, row.secret) == ("https://8.8.8.8/very/secret?token=1", SECRET)
    assert row.hourly_limit == 5


def test_a_masked_address_is_none_of_another_kind(keeper):
    row = route("night", "slack", address="https://8.8.8.8/very/secret")
    url = reverse("admin:desk_route_change", args=[row.pk])
    response = keeper.post(url, FORM | {"kind": "webhook", "address": "https://8.8.8.8/…"})
    assert list(errors(response)) == ["address"]


@pytest.mark.parametrize(("kind", "is_kept"), [("pagerduty", False), ("webhook", True)])
def test_a_key_that_is_sent_along_is_not_kept_for_another_address(keeper, kind, is_kept):
    row = route("night", kind, address="https://8.8.8.8/enqueue")
    url = reverse("admin:desk_route_change", args=[row.pk])
    response = keeper.post(url, FORM | {"kind": kind, "address": "https://8.8.4.4/mine"})

    row.refresh_from_db()
    assert row.secret == SECRET
    if is_kept:
        assert row.address == "https://8.8.4.4/mine"
    else:
        assert list(errors(response)) == ["secret"]
        assert row.address == "https://8.8.8.8/enqueue"


def test_no_filter_finds_a_secret(keeper):
    route(secret="whsec_abc")
    for query in ("secret__startswith=whsec_a", "address__startswith=ops"):
        assert keeper.get(f"{LIST}?{query}").status_code in (302, 400)


def test_each_act_has_its_permission(viewer):
    row = route()
    failed = Delivery.objects.create(
        route=row, event="test", state="failed", at=NOW, next_at=NOW, ended_at=NOW
    )
    before = (all_routes(), rows())
    for url in (
        f"{LIST}add/",
        f"{LIST}{row.pk}/change/",
        f"{LIST}{row.pk}/delete/",
        f"{LIST}{row.pk}/test/",
        f"{DELIVERIES}{failed.pk}/resend/",
    ):
        assert viewer.post(url, FORM).status_code == 403, url
    viewer.post(LIST, {"action": "mute_selected", "_selected_action": [row.pk]})
    assert (all_routes(), rows()) == before
    assert viewer.get(f"{LIST}{row.pk}/test/").status_code == 405


def test_a_test_is_sent_and_its_answer_shown(keeper, wire, monkeypatch):
    row = route("night", "slack")
    monkeypatch.setitem(senders.senders, "slack", lambda message: Answer(200, "ok"))
    response = keeper.post(f"{LIST}{row.pk}/test/", follow=True)
    assert "Sent to night: 200 ok" in response.content.decode()
    assert response.redirect_chain[-1][0] == LIST

    def fail(message: Any) -> None:
        raise Undelivered("answered 404", answer=Answer(404, "<b>no_team</b>"))

    monkeypatch.setitem(senders.senders, "slack", fail)
    response = keeper.post(f"{LIST}{row.pk}/test/", {"from": "page"}, follow=True)
    assert "ight failed: answered 404: &lt;b&gt;no_team&lt;/b&gt;" in response.content.decode()
    assert "failing" in keeper.get(LIST).content.decode()


def test_routes_are_muted_for_an_hour_and_told_again(keeper):
    row = route()
    keeper.post(LIST, {"action": "mute_selected", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.muted_until is not None
    assert timedelta(minutes=59) < row.muted_until - timezone.now() <= timedelta(minutes=60)
    assert "muted" in keeper.get(LIST).content.decode()
    keeper.post(LIST, {"action": "unmute_selected", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.muted_until is None
    assert list(Journal.objects.order_by("pk").values_list("event", flat=True)) == [
        "route_muted",
        "route_muted",
    ]


def test_a_route_is_deleted_with_what_it_was_told(keeper):
    row = route()
    incident()
    plan(NOW)
    url = f"{LIST}{row.pk}/delete/"
    assert "and 1 delivery" in keeper.get(url).content.decode()
    keeper.post(url, {"post": "yes"})
    assert (all_routes(), rows()) == ([], [])
    assert Journal.objects.get().event == "route_deleted"


def test_deliveries_are_listed_with_their_answers(viewer):
    row, other = route(), route("other", "slack")
    one = incident()
    member(one)
    plan(NOW)
    Delivery.objects.filter(route=row).update(
        state="failed",
        tries=20,
        answer_status=550,
        answer="the mail server answered 550: no",
        ended_at=NOW,
    )
    content = viewer.get(DELIVERIES).content.decode()
    assert "the mail server answered 550: no" in content
    assert "20 failed tries" in content
    assert "/resend/" not in content
    assert "fails for good" in content

    assert viewer.get(f"{DELIVERIES}?route__id__exact={other.pk}").context["cl"].result_count == 1
    assert viewer.get(f"{DELIVERIES}?state=failed").context["cl"].result_count == 1
    for pk in Delivery.objects.values_list("pk", flat=True):
        assert viewer.get(f"{DELIVERIES}{pk}/change/").status_code == 200
    page = viewer.get(f"/admin/desk/incident/{one.pk}/change/").content.decode()
    assert "Who was told, and when" in page
    assert f"{DELIVERIES}{Delivery.objects.get(route=other).pk}/change/" in page


def test_what_was_given_up_is_sent_again(wire):
    client = staff("resender", "resend_delivery")
    route()
    incident()
    plan(NOW)
    Delivery.objects.update(state="failed", tries=20, ended_at=NOW)
    assert "/resend/" in client.get(DELIVERIES).content.decode()
    url = f"{DELIVERIES}{Delivery.objects.get().pk}/resend/"
    assert client.post(url).status_code == 302
    assert rows()[0]["state"] == "due"
    assert "nothing to send again" in client.post(url, follow=True).content.decode()
    wire.run_until_idle()
    assert rows()[0]["state"] == "delivered"


def test_pages_cost_few_statements(keeper):
    for number in range(12):
        row = route(f"route-{number}", "slack")
        incident(f"key-{number}")
    plan(NOW)
    for url in (LIST, f"{LIST}{row.pk}/change/", f"{LIST}add/", DELIVERIES):
        keeper.get(url)
        with CaptureQueriesContext(connection) as captured:
            assert keeper.get(url).status_code == 200
        assert len(captured) < 15, [one["sql"] for one in captured]


def languages(client: Client, url: str) -> list[str]:
    field = client.get(url).context["adminform"].form.fields["language"]
    return [code for code, _name in field.choices]


def test_the_languages_are_those_that_messages_have_words_in(keeper, tmp_path, settings):
    assert languages(keeper, f"{LIST}add/") == ["", "en"]

    words = tmp_path / "zh_Hant" / "LC_MESSAGES"
    words.mkdir(parents=True)
    (words / "django.mo").touch()
    settings.LOCALE_PATHS = [tmp_path]

    assert languages(keeper, f"{LIST}add/") == ["", "en", "zh-hant"]


def test_the_language_that_a_route_has_stays(keeper):
    row = route(language="fr")

    assert languages(keeper, f"{LIST}{row.pk}/change/") == ["", "en", "fr"]
