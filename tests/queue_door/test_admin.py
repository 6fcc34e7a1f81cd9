"""The admin of dead letters: found, read without harm, and resolved by those who may."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from orders.consumer.handling import handle
from orders.models import DeadLetter, Order
from tests.queue_door.sending import BODY

pytestmark = pytest.mark.django_db
LIST = "/admin/orders/deadletter/"


def staff(name: str, *permissions: str) -> Client:
    user = get_user_model().objects.create_user(name, is_staff=True)
    wanted = ("view_deadletter", "view_order", *permissions)
    user.user_permissions.add(*Permission.objects.filter(codename__in=wanted))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator(db) -> Client:
    return staff("ann", "resolve_dead_letter")


@pytest.fixture
def viewer(db) -> Client:
    return staff("vic")


def letter_of(message: Any) -> DeadLetter:
    letter = handle(message).letter
    assert letter is not None
    return letter


def keys(client: Client, query: str = "") -> list[str]:
    found = client.get(f"{LIST}{query}")
    assert found.status_code == 200
    return [row.message_id for row in found.context["cl"].result_list]


def test_the_list_has_open_ones_first_and_is_searched_and_filtered(operator, make):
    old = letter_of(make("gone", body=b"{"))
    DeadLetter.objects.filter(pk=old.pk).update(
        state="discarded", resolved_at=old.received_at, comment="a typo of theirs"
    )
    letter_of(make("first", body=b"[]"))
    letter_of(make("second", body=b"{", headers={"client": "ghost", "token": "x"}, app_id="till-7"))

    assert keys(operator) == ["second", "first", "gone"]
    assert keys(operator, "?state=discarded") == ["gone"]
    assert keys(operator, "?client=ghost") == ["second"]
    for words, found in {
        "firs": ["first"],
        "ghost": ["second"],
        "%": [],
        "\x00": ["second", "first", "gone"],
    }.items():
        assert keys(operator, f"?q={words.replace('%', '%25')}") == found, words
    # What may say who somebody is, by who may see that.
    shower = staff("shower", "show_personal")
    for words, found in {
        "object": ["first"],
        "typo theirs": ["gone"],
        "till-7": ["second"],
        "till-8": [],
    }.items():
        assert keys(shower, f"?q={words}") == found, words
        assert keys(operator, f"?q={words}") == [], words


def test_a_poll_gets_the_rows_alone(operator, make):
    letter_of(make(body=b"{"))
    html = operator.get(LIST, headers={"HX-Request": "true"}).content.decode()
    assert "key-1" in html
    assert "<html" not in html


def test_what_it_shows_is_harmless(operator, admin_client, make):
    evil = "<script>alert(1)</script>"
    body = json.dumps(BODY | {evil: evil}).encode()
    letter = letter_of(make(body=body, headers={"x": evil, "client": evil}, app_id=evil))
    for page in (LIST, f"{LIST}{letter.pk}/change/", f"{LIST}{letter.pk}/replay/"):
        html = operator.get(page).content.decode()
        assert evil not in html
    html = operator.get(f"{LIST}{letter.pk}/change/").content.decode()
    assert "&quot;customer&quot;: {\n" in html, "JSON is indented"
    raw = letter_of(make(body=b"\x00\xff</pre>" + b"x" * 100_000))
    assert admin_client.post(f"{LIST}{raw.pk}/show/").status_code == 302
    html = admin_client.get(f"{LIST}{raw.pk}/change/").content.decode()
    assert "\\x00\\xff&lt;/pre&gt;" in html
    assert "Only the beginning is shown" in html


def test_unproven_sender_is_marked_on_every_dead_letter_page(operator, make):
    proven, claimed = letter_of(make(body=b"{")), letter_of(make("k2", headers={"token": "x"}))
    for letter, is_marked in ((proven, False), (claimed, True)):
        for page in ("change", "replay", "discard"):
            html = operator.get(f"{LIST}{letter.pk}/{page}/").content.decode()
            assert ("not proven" in html) is is_marked, page
    rows = operator.get(LIST).content.decode().split("<tr")
    assert [("not proven" in row) for row in rows if "key-1" in row] == [False]
    assert [("not proven" in row) for row in rows if "k2" in row] == [True]
    chosen = {"action": "replay_selected", "_selected_action": [proven.pk, claimed.pk]}
    html = operator.post(LIST, chosen).content.decode()
    assert "Of 2, 1 is of a sender that nobody has proven." in html
    first, second = html.split('<ul class="sas-list">')[1].split("</ul>")[0].split("<li>")[1:]
    assert "not proven" in first
    assert f"of unproven {claimed.client}" in first
    assert "proven" not in second


def test_a_name_cannot_turn_its_mark_round(operator, make):
    letter = letter_of(make(headers={"client": "acme\u202egnp.exe\x1b", "token": "x"}))
    for page in (LIST, f"{LIST}{letter.pk}/change/", f"{LIST}{letter.pk}/replay/"):
        html = operator.get(page).content.decode()
        assert "\u202e" not in html
        assert "acme\\u202egnp.exe\\u001b" in html
    assert "<bdi>acme\\u202egnp" in operator.get(LIST).content.decode()
    # What is read from right to left by nature stays as it is.
    hebrew = letter_of(make("k2", headers={"client": "\u05e9\u05dc\u05d5\u05dd", "token": "x"}))
    html = operator.get(f"{LIST}{hebrew.pk}/change/").content.decode()
    assert "<bdi>\u05e9\u05dc\u05d5\u05dd</bdi>" in html


def test_dead_letter_of_unproven_sender_is_replayed_if_operator_vouches(operator, make):
    letter = letter_of(make(headers={"token": "expired"}))
    url = f"{LIST}{letter.pk}/replay/"
    page = operator.get(f"{LIST}{letter.pk}/change/").content.decode()
    assert url in page
    asked = operator.get(url).content.decode()
    assert "you vouch for it" in asked
    assert 'name="unproven"' in asked
    refused = operator.post(url, {"reason": "known to us"})
    assert refused.status_code == 409
    assert "is not proven to be acme" in refused.content.decode()
    assert not Order.objects.exists()

    done = operator.post(url, {"reason": "known to us", "unproven": "on"}, follow=True)
    order = Order.objects.get()
    assert f"Order {order.number}" in done.content.decode()
    letter.refresh_from_db()
    assert (letter.state, letter.resolved_by) == ("replayed", "operator:ann")
    entry = LogEntry.objects.get()
    assert (entry.object_id, entry.change_message) == (str(letter.pk), "Replay known to us")


def test_vouching_is_not_offered_for_proven_sender_or_for_discarding(operator, make):
    letter = letter_of(make(body=b"{"))
    for page in ("replay", "discard"):
        assert 'name="unproven"' not in operator.get(f"{LIST}{letter.pk}/{page}/").content.decode()
    claimed = letter_of(make("k2", headers={"token": "x"}))
    html = operator.get(f"{LIST}{claimed.pk}/discard/").content.decode()
    assert 'name="unproven"' not in html


def test_one_that_is_still_wrong_stays_and_says_why(operator, make):
    letter = letter_of(make(body=b"{"))
    answer = operator.post(f"{LIST}{letter.pk}/replay/", {"reason": ""})
    assert answer.status_code == 409
    assert "cannot be read" in answer.content.decode()
    assert DeadLetter.objects.get().state == "open"
    assert not LogEntry.objects.exists()


def test_discarding_needs_a_reason(operator, make):
    letter = letter_of(make(body=b"{"))
    assert operator.post(f"{LIST}{letter.pk}/discard/", {"reason": " "}).status_code == 400
    assert DeadLetter.objects.get().state == "open"
    assert operator.post(f"{LIST}{letter.pk}/discard/", {"reason": "noise"}).status_code == 302
    assert DeadLetter.objects.get().state == "discarded"
    assert operator.post(f"{LIST}{letter.pk}/restore/", {"reason": ""}).status_code == 302
    assert DeadLetter.objects.get().state == "open"


def test_many_at_once_each_by_itself(operator, make):
    good = letter_of(make("good", headers={"token": "x"}))
    bad = letter_of(make("bad", body=b"{"))
    gone = letter_of(make("gone", headers={"token": "x"}))
    chosen = {"action": "replay_selected", "_selected_action": [good.pk, bad.pk, gone.pk]}
    page = operator.post(LIST, chosen)
    assert page.status_code == 200
    letters = page.context["form"]["letters"].value()
    assert letters == f"{good.pk},{bad.pk},{gone.pk}"
    operator.post(f"{LIST}{gone.pk}/discard/", {"reason": "meanwhile"})

    done = operator.post(
        f"{LIST}replay/", {"letters": letters, "reason": "all", "unproven": "on"}, follow=True
    )
    said = [str(one) for one in done.context["messages"]]
    assert "Replay: 1 changed." in said
    assert any(one.startswith("2 were not: Dead letter") for one in said)
    states = dict(DeadLetter.objects.values_list("message_id", "state"))
    assert states == {"good": "replayed", "bad": "open", "gone": "discarded"}
    assert LogEntry.objects.filter(change_message="Replay all").count() == 1


@pytest.mark.parametrize("letters", ["", "x", "1;2", "1" * 30, ",".join(["1"] * 501)])
def test_a_list_that_is_none(operator, letters):
    answer = operator.post(f"{LIST}discard/", {"letters": letters, "reason": "x"})
    assert answer.status_code == 400


def test_viewer_cannot_replay_discard_or_restore_dead_letter(viewer, make):
    letter = letter_of(make(headers={"token": "x"}))
    page = viewer.get(f"{LIST}{letter.pk}/change/")
    assert page.status_code == 200
    assert f"{LIST}{letter.pk}/replay/" not in page.content.decode()
    for verb in ("replay", "discard", "restore"):
        assert viewer.get(f"{LIST}{letter.pk}/{verb}/").status_code == 403
        assert viewer.post(f"{LIST}{letter.pk}/{verb}/", {"reason": "x"}).status_code == 403
        given = {"letters": str(letter.pk), "reason": "x"}
        assert viewer.post(f"{LIST}{verb}/", given).status_code == 403
    viewer.post(LIST, {"action": "replay_selected", "_selected_action": [letter.pk]})
    assert DeadLetter.objects.get().state == "open"
    assert staff("nobody").get(LIST).status_code == 200


def test_rows_are_not_added_changed_or_deleted(make):
    letter = letter_of(make(body=b"{"))
    root = Client()
    root.force_login(get_user_model().objects.create_superuser("root"))
    assert root.get(f"{LIST}add/").status_code == 403
    assert root.post(f"{LIST}{letter.pk}/change/", {"state": "replayed"}).status_code == 403
    assert root.post(f"{LIST}{letter.pk}/delete/", {"post": "yes"}).status_code == 403
    assert DeadLetter.objects.get().state == "open"


def test_the_index_counts_those_that_wait(operator, make):
    letter_of(make(body=b"{"))
    html = operator.get("/admin/orders/order/needs/").content.decode()
    assert f"{LIST}?state=open" in html
    assert "open dead letter" in html
