"""Dead letters of one reason and client are one line, and dealt with together."""

import json
import re
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders import dead_letters, letter_groups
from orders.models import DeadLetter, Order, Product
from tests.programs import said
from tests.queue_door.conftest import new_client
from tests.queue_door.sending import BODY
from tests.queue_door.test_admin import LIST, letter_of, staff

pytestmark = pytest.mark.django_db
GROUPS = f"{LIST}groups/"


def sold_out(quantity: int) -> dict[str, Any]:
    return BODY | {"lines": [{"sku": "SKU-001", "quantity": quantity}]}


@pytest.fixture
def letters(make) -> list[DeadLetter]:
    """Three alike of acme, one of somebody who only says that they are, and one of another kind."""
    return [
        *(letter_of(make(f"k{n}", body=sold_out(20_000 + n))) for n in range(3)),
        letter_of(make("k3", body=sold_out(30_000), headers={"token": "x"})),
        letter_of(make("k4", body=b"{")),
    ]


run = partial(said, "dead_letters")


def test_similar_letters_form_one_group_with_first_last_and_count(letters):
    groups = letter_groups.read()
    assert [(group.count, group.client, group.is_proven) for group in groups] == [
        (3, "acme", True),
        (1, "acme", False),
        (1, "acme", True),
    ]
    assert groups[0].pk == letters[0].pk
    assert (groups[0].first, groups[0].last) == (letters[0].received_at, letters[2].received_at)
    assert "lines.# quantity" not in groups[0].cause
    assert "Only # of Lamp" in groups[0].cause


def test_one_that_is_resolved_is_in_no_group(letters):
    dead_letters.discard(letters[0].pk, actor="a", reason="b")
    assert letter_groups.read()[0].count == 2
    assert letters[0].pk not in letter_groups.like(letters[1].pk).values_list("pk", flat=True)


def test_letter_of_unproven_sender_joins_no_group_of_the_named_client(letters):
    claimed = letters[3].pk
    DeadLetter.objects.filter(pk=claimed).update(cause=letter_groups.read()[0].cause)

    assert [group.count for group in letter_groups.read()] == [3, 1, 1]
    assert claimed not in letter_groups.like(letters[0].pk).values_list("pk", flat=True)
    assert letter_groups.like(claimed).count() == 1


def test_every_group_link_says_that_sender_is_not_proven(letters):
    DeadLetter.objects.exclude(pk=letters[3].pk).delete()
    page = staff("ann", "resolve_dead_letter").get(GROUPS).content.decode()
    unseen = re.findall(r'<span class="visually-hidden"> (.*?)</a>', page, re.DOTALL)
    assert len(unseen) > 1
    assert all("not proven" in text for text in unseen)


def test_groups_are_counted_in_one_query(letters):
    with CaptureQueriesContext(connection) as queries:
        letter_groups.read()
    assert len(queries) == 1


def test_the_page_shows_them_and_leads_to_their_messages(letters):
    client = staff("ann", "resolve_dead_letter")
    html = client.get(GROUPS).content.decode()
    rows = html.split("<tbody")[1].split("<tr")[1:]
    assert [("not proven" in row) for row in rows] == [False, True, False]
    assert "3 messages" in rows[0]
    assert f"?like={letters[0].pk}" in rows[0]
    listed = client.get(f"{LIST}?like={letters[0].pk}").context["cl"].result_list
    assert {row.pk for row in listed} == {letter.pk for letter in letters[:3]}
    page = client.get(f"{LIST}{letters[0].pk}/change/").content.decode()
    assert "2 other open messages are like it." in page


@pytest.mark.parametrize("like", ["x", "0", "99999999999999999999", "²"])
def test_a_group_that_is_none_has_no_messages(letters, like):
    answer = staff("ann").get(f"{LIST}?like={like}")
    assert answer.status_code == 200
    assert list(answer.context["cl"].result_list) == []


def test_a_poll_of_groups_that_stayed_gets_nothing(letters):
    client = staff("ann")
    seen = client.get(GROUPS)["X-Seen"]
    poll = {"HX-Request": "true", "X-Seen": seen}
    assert client.get(GROUPS, headers=poll).status_code == 204
    dead_letters.discard(letters[0].pk, actor="a", reason="b")
    answer = client.get(GROUPS, headers=poll)
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()


def test_all_of_a_group_are_replayed_together(letters):
    client = staff("ann", "resolve_dead_letter")
    Product.objects.update(stock=1_000_000)
    page = client.get(f"{LIST}{letters[0].pk}/like/replay/")
    assert page.status_code == 200
    chosen = page.context["form"].initial["letters"]
    assert chosen == ",".join(str(letter.pk) for letter in letters[:3])
    client.post(f"{LIST}replay/", {"letters": chosen, "reason": "restocked"})
    assert Order.objects.count() == 3
    again = client.get(f"{LIST}{letters[0].pk}/like/replay/", follow=True)
    assert "None of that group is open any more." in again.content.decode()


def test_an_unproven_group_is_marked_where_it_is_acted_on(letters):
    client = staff("ann", "resolve_dead_letter")
    html = client.get(f"{LIST}{letters[3].pk}/like/replay/").content.decode()
    assert "not proven" in html
    assert 'name="unproven"' in html


@pytest.mark.parametrize("act", ["restore", "correct", "nothing"])
def test_nothing_else_is_done_to_a_group(letters, act):
    client = staff("ann", "resolve_dead_letter")
    assert client.get(f"{LIST}{letters[0].pk}/like/{act}/").status_code == 404


def test_who_may_not_act_sees_groups_and_no_acts(letters):
    viewer = staff("vic")
    assert "/like/" not in viewer.get(GROUPS).content.decode()
    assert viewer.get(f"{LIST}{letters[0].pk}/like/replay/").status_code == 403
    stranger = Client()
    stranger.force_login(viewer_without_rights())
    assert stranger.get(GROUPS).status_code == 403


def viewer_without_rights() -> Any:
    from django.contrib.auth import get_user_model

    return get_user_model().objects.create_user("nobody", is_staff=True)


def test_a_note_is_kept_with_one_that_stays_open(letters):
    client = staff("ann", "resolve_dead_letter")
    url = f"{LIST}{letters[0].pk}/note/"
    assert client.post(url, {"reason": ""}).status_code == 400
    client.post(url, {"reason": "asked them by phone"})
    letter = DeadLetter.objects.get(pk=letters[0].pk)
    assert (letter.state, letter.resolved_by, letter.resolved_at) == ("open", "", None)
    assert letter.comment.endswith("noted by operator:ann: asked them by phone")
    assert "asked them by phone" in client.get(f"{LIST}{letter.pk}/change/").content.decode()
    dead_letters.discard(letter.pk, actor="a", reason="b")
    with pytest.raises(dead_letters.NotNow, match="it cannot be noted"):
        dead_letters.note(letter.pk, actor="a", reason="late")


def test_a_row_of_an_older_version_is_a_group_without_a_cause(letters):
    DeadLetter.objects.filter(pk=letters[4].pk).update(cause="")
    assert any(group.cause == "" for group in letter_groups.read())
    assert staff("ann").get(GROUPS).status_code == 200


def test_the_terminal_does_the_same(letters):
    lines = run("groups").splitlines()
    assert len(lines) == 3
    assert lines[0].startswith(f"3  like {letters[0].pk}  acme  ")
    assert "  unproven acme  " in lines[1]
    (first, *_) = json.loads(run("groups", "--json"))["groups"]
    assert (first["count"], first["is_proven"]) == (3, True)
    assert "is noted." in run("note", "--like", letters[0].pk, "--reason", "seen")
    Product.objects.update(stock=1_000_000)
    said = run("replay", "--like", letters[0].pk)
    assert said.count("is replayed: order") == 3
    with pytest.raises(CommandError, match="No open dead letter is like"):
        run("replay", "--like", letters[0].pk)
    with pytest.raises(CommandError, match="--like goes with"):
        run("restore", "--like", letters[0].pk)
    with pytest.raises(CommandError, match="--like goes with"):
        run("discard", 1, "--like", letters[0].pk, "--reason", "x")
    with pytest.raises(CommandError, match="Say why"):
        run("note", letters[4].pk)


def test_a_client_s_name_cannot_steer_the_terminal(make):
    new_client("ghost")
    letter_of(make("k", body=b"{", headers={"client": "a\x1b[2J\u202e", "token": "x"}))
    said = run("groups")
    assert "\x1b" not in said
    assert "a\\u001b[2J\\u202e" in said


def test_the_groups_of_none_are_said_to_be_none():
    assert run("groups") == "No dead letters are open.\n"
