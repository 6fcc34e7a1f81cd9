"""Seeing who is told of what, and having them told again: commands and admin."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from orders import webhooks
from orders.models import ApiClient
from tests.programs import said
from tests.reporting.conftest import QUEUE, sink_of, told
from workers.definitions import delivery_problems
from workers.models import Process, Sink
from workers.rules.rows import NewSink
from workers.store import sinks
from workers.wire import dispatch

run = said


@pytest.fixture
def stuck() -> Process:
    url = "https://acme.example/told?key=private"
    process = told(NewSink("webhook", url, owner="client:acme"))
    Sink.objects.update(state="undeliverable", tries=20, last_error="answered 500")
    told(QUEUE, subject="Toy 2")
    return process


def test_the_list_shows_those_in_trouble(stuck):
    text = run("sas", "sinks", "list")
    assert "answered 500" in text
    assert "Toy 1" in text
    assert "Toy 2" not in text
    assert "private" not in text
    (row,) = json.loads(run("sas", "sinks", "list", "--json"))
    assert (row["state"], row["tries"], row["cursor"], row["last"]) == ("undeliverable", 20, 0, 1)
    assert "Toy 2" in run("sas", "sinks", "list", "--state", "open")
    assert "0 sinks." in run("sas", "sinks", "list", "--owner", "client:other")


@pytest.mark.parametrize("by", ["id", "owner"])
def test_retry_tells_again(stuck, wire, by):
    words = [str(sink_of(stuck).pk)] if by == "id" else ["--owner", "client:acme"]

    assert "1 sink told again" in run("sas", "sinks", "retry", *words)

    assert (sink_of(stuck).state, sink_of(stuck).tries) == ("open", 0)
    assert wire.of(dispatch.REPORT)


@pytest.mark.parametrize(
    "kept", [{"problem": {"code": "late", "params": {}}}, {"last_error": "answered 500"}]
)
def test_what_is_told_again_has_failed_no_more(stuck, kept):
    pk = sink_of(stuck).pk
    Sink.objects.filter(pk=pk).update(**kept)
    assert sinks.redeliver(pk, actor="operator:ann")
    row = Sink.objects.get(pk=pk)
    assert (row.state, row.tries, row.problem, row.last_error) == ("open", 0, None, "")


def test_retry_from_the_beginning_tells_what_was_told(wire):
    process = told()
    wire.run_until_idle()
    wire.told.clear()
    pk = str(sink_of(process).pk)
    assert "0 sinks" in run("sas", "sinks", "retry", pk)

    run("sas", "sinks", "retry", pk, "--from", "2")
    wire.run_until_idle()

    assert [letter.sequence for letter in wire.told] == [2, 3, 4, 5]


@pytest.mark.parametrize(
    "words", [[], ["--from", "1"], ["--owner", "a", "--from", "1"], ["4711"], ["1", "--from", "0"]]
)
def test_retry_refuses_what_it_cannot_do(words):
    with pytest.raises(CommandError):
        run("sas", "sinks", "retry", *words)


def test_a_client_s_webhook_secret_is_shown_and_changed():
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    first = run("client", "webhook-secret", "acme").splitlines()[-1]
    assert first == client.webhook_secret

    second = run("client", "webhook-secret", "acme", "--rotate").splitlines()[-1]

    client.refresh_from_db()
    assert (client.webhook_secret, client.old_webhook_secret) == (second, first)
    assert second.startswith("whsec_")
    left = client.old_webhook_secret_until - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    with pytest.raises(CommandError):
        run("client", "webhook-secret", "nobody")


def test_an_old_webhook_secret_keeps_the_time_it_was_promised():
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    first = client.webhook_secret
    second = run("client", "webhook-secret", "acme", "--rotate").splitlines()[-1]
    client.refresh_from_db()
    until = f"{client.old_webhook_secret_until:%Y-%m-%d %H:%M} UTC"

    with pytest.raises(CommandError, match=until):
        run("client", "webhook-secret", "acme", "--rotate", "--overlap-hours", "1")
    assert webhooks.secrets_of("client:acme") == [second, first]

    # One that got out ends at once, whatever was promised.
    said = run("client", "webhook-secret", "acme", "--rotate", "--overlap-hours", "0")
    assert "no other signature" in said
    third = said.splitlines()[-1]
    assert webhooks.secrets_of("client:acme") == [third]
    fourth = run("client", "webhook-secret", "acme", "--rotate").splitlines()[-1]
    assert webhooks.secrets_of("client:acme") == [fourth, third]


def test_a_secret_is_rotated_again_once_the_older_one_is_over():
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    begun = timezone.now()
    webhooks.rotate(client, timedelta(hours=1), begun)

    with pytest.raises(webhooks.SecretPromised):
        webhooks.rotate(client, timedelta(hours=1), begun + timedelta(minutes=59))
    webhooks.rotate(client, timedelta(hours=1), begun + timedelta(minutes=61))


def staff(*codenames: str) -> Client:
    user = get_user_model().objects.create_user("ann", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


LIST = "/admin/workers/sink/"


def test_the_admin_lists_sinks_and_hides_what_may_be_a_secret(stuck):
    page = staff("view_sink").get(LIST).content.decode()
    assert "undeliverable" in page
    assert "answered 500" in page
    assert "https://acme.example/told" in page
    assert "private" not in page
    assert "redeliver" not in page


@pytest.mark.parametrize(
    "kept",
    [{"problem": {"code": "answered", "params": {"status": 500}}}, {"last_error": "answered 500"}],
    ids=["code", "text of a version before"],
)
def test_delivery_problem_of_sink_is_put_into_words_when_read(wire, monkeypatch, kept):
    told(QUEUE)
    Sink.objects.update(tries=4, **kept)
    sink, viewer = Sink.objects.get(), staff("view_sink")
    for url in (LIST, f"{LIST}{sink.pk}/change/"):
        assert "answered 500" in viewer.get(url).content.decode(), url
    (row,) = json.loads(run("sas", "sinks", "list", "--json"))
    assert row["last_error"] == "answered 500"
    monkeypatch.setattr(delivery_problems, "TEXTS", {"answered": "elsewhere %(status)s"})
    page = viewer.get(LIST).content.decode()
    assert ("elsewhere 500" in page) is ("problem" in kept)


def test_the_admin_says_how_often_and_when_next(wire):
    told(QUEUE)
    due = timezone.now() + timedelta(hours=1)
    Sink.objects.update(tries=4, last_error="answered 500", next_try_at=due)
    page = staff("view_sink").get(LIST).content.decode()
    assert re.search(r"4 tries · <[^>]+>next in ", page)


def test_an_operator_has_one_told_again(stuck, wire):
    client = staff("view_sink", "redeliver_sink")
    assert (
        f"/admin/workers/sink/{sink_of(stuck).pk}/redeliver/" in client.get(LIST).content.decode()
    )

    answer = client.post(f"{LIST}{sink_of(stuck).pk}/redeliver/")

    assert (answer.status_code, answer["Location"]) == (302, LIST)
    assert sink_of(stuck).state == "open"
    assert wire.of(dispatch.REPORT)
    again: Any = client.get(LIST).content.decode()
    assert "Told again" in again


def test_an_operator_has_many_told_again(stuck):
    form = {"action": "redeliver_selected", "_selected_action": [sink_of(stuck).pk]}
    staff("view_sink", "redeliver_sink").post(LIST, form)
    assert sink_of(stuck).state == "open"


def test_viewer_without_permission_cannot_redeliver_sink(stuck):
    client = staff("view_sink")
    pk = sink_of(stuck).pk
    assert client.post(f"{LIST}{pk}/redeliver/").status_code == 403
    client.post(LIST, {"action": "redeliver_selected", "_selected_action": [pk]})
    assert client.get(f"{LIST}{pk}/redeliver/").status_code == 405
    assert sink_of(stuck).state == "undeliverable"


def test_superuser_cannot_add_change_or_delete_sink(stuck):
    pk = sink_of(stuck).pk
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("root"))
    assert client.get(f"{LIST}add/").status_code == 403
    assert client.post(f"{LIST}{pk}/change/", {"state": "open"}).status_code == 403
    assert client.post(f"{LIST}{pk}/delete/", {"post": "yes"}).status_code == 403
