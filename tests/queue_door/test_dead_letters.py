"""What operators do about dead letters, from a terminal and as the functions behind it."""

import json
import re
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError

from orders import dead_letters
from orders.consumer.handling import handle
from orders.dead_letters import NotNow
from orders.models import ApiClient, DeadLetter, Order, Product
from orders.reasons import Refused
from tests.alerts import text_of
from tests.programs import said
from tests.queue_door.conftest import Make, new_client
from tests.queue_door.sending import BODY
from workers.desk.texts import alert_texts
from workers.models import Alert
from workers.store import alert_resolution

pytestmark = pytest.mark.django_db
SOLD_OUT = BODY | {"lines": [{"sku": "SKU-001", "quantity": 20_000}]}


def letter_of(message: Any) -> DeadLetter:
    letter = handle(message).letter
    assert letter is not None
    return letter


run = partial(said, "dead_letters")


def test_a_replay_places_the_order_as_its_client_under_its_key(make):
    letter = letter_of(make("late", body=SOLD_OUT, reply_to="replies.acme.x"))
    Product.objects.update(stock=1_000_000)
    order = dead_letters.replay(letter.pk, actor="operator:ann", reason="restocked")
    assert (order.submitter, order.submission_key, order.source) == ("client:acme", "late", "queue")
    letter.refresh_from_db()
    assert (letter.state, letter.order, letter.resolved_by) == ("replayed", order, "operator:ann")
    assert letter.comment.endswith("replayed by operator:ann: restocked")
    # The client, not knowing, sends it again: the same order.
    assert handle(make("late", body=SOLD_OUT)).order == order
    with pytest.raises(NotNow, match="is replayed: it cannot be replayed"):
        dead_letters.replay(letter.pk, actor="operator:ann")
    assert Order.objects.count() == 1


def test_a_replay_that_is_still_wrong_says_so_and_changes_nothing(make):
    letter = letter_of(make(body=SOLD_OUT))
    before = DeadLetter.objects.values().get()
    with pytest.raises(Refused, match=r"lines\.0\.quantity: Only 10000 of Lamp"):
        dead_letters.replay(letter.pk, actor="a")
    assert DeadLetter.objects.values().get() == before
    assert not Order.objects.exists()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"key": None}, "message_id: is missing"),
        ({"key": "k" * 201}, "message_id: must be 1 to 200"),
        ({"body": b"{"}, "body: cannot be read"),
        ({"content_encoding": "gzip"}, "content_encoding"),
        ({"unreadable": "odd"}, "properties: cannot be read"),
        ({"headers": {"client": "ghost", "token": "x"}}, "there is no client 'ghost'"),
        ({"headers": {"client": None, "token": None}}, "there is no client 'nobody'"),
    ],
)
def test_what_cannot_be_replayed(make: Make, given: dict[str, Any], why: str) -> None:
    letter = letter_of(make(**given))
    with pytest.raises(Refused, match=why):
        dead_letters.replay(letter.pk, actor="a")


def test_a_replay_for_a_closed_client_is_refused(make):
    letter = letter_of(make(body=SOLD_OUT))
    ApiClient.objects.update(is_active=False)
    with pytest.raises(Refused, match="acme is closed"):
        dead_letters.replay(letter.pk, actor="a")


@pytest.mark.parametrize("headers", [{"token": "wrong"}, {"token": None}])
def test_the_operator_stands_for_a_sender_that_is_not_proven(make, headers):
    letter = letter_of(make(headers=headers))
    assert str(letter) == f"dead letter {letter.pk} of unproven acme"
    with pytest.raises(Refused, match="client: is not proven to be acme"):
        dead_letters.replay(letter.pk, actor="a")
    letter.refresh_from_db()
    assert (letter.state, letter.comment) == ("open", "")
    assert not Order.objects.exists()

    assert dead_letters.replay(letter.pk, actor="a", unproven=True).submitter == "client:acme"
    letter.refresh_from_db()
    assert letter.comment.endswith("replayed as unproven by a")


def test_a_letter_of_before_senders_were_proven_counts_as_unproven(make):
    letter = letter_of(make(body=SOLD_OUT))
    assert str(letter) == f"dead letter {letter.pk} of acme"
    DeadLetter.objects.update(properties={"message_id": "key-1"})
    Product.objects.update(stock=1_000_000)
    with pytest.raises(Refused, match="is not proven to be acme"):
        dead_letters.replay(letter.pk, actor="a")


def test_letter_is_replayed_as_its_proven_sender_not_as_the_named_client(make):
    new_client("victim")
    letter = letter_of(make(headers={"client": "victim"}))
    assert dead_letters.replay(letter.pk, actor="a").submitter == "client:acme"


def test_a_replay_leaves_a_foreign_reply_queue_out(make):
    letter = letter_of(make(reply_to="sas.reports"))
    assert dead_letters.replay(letter.pk, actor="a")


def test_the_key_of_another_order_stays_refused(make):
    handle(make())
    letter = letter_of(make(body=BODY | {"reference": "other"}))
    with pytest.raises(Refused, match="message_id: The submission key was used for order"):
        dead_letters.replay(letter.pk, actor="a")


def test_discard_and_restore_leave_their_trail(make):
    letter = letter_of(make(body=b"{"))
    dead_letters.discard(letter.pk, actor="operator:ann", reason="a test of theirs")
    letter.refresh_from_db()
    assert (letter.state, letter.resolved_by) == ("discarded", "operator:ann")
    assert letter.resolved_at is not None
    with pytest.raises(NotNow, match="is discarded: it cannot be replayed"):
        dead_letters.replay(letter.pk, actor="operator:bob")
    dead_letters.restore(letter.pk, actor="operator:bob")
    letter.refresh_from_db()
    assert (letter.state, letter.resolved_by, letter.resolved_at) == ("open", "", None)
    assert [line[21:] for line in letter.comment.splitlines()] == [
        "discarded by operator:ann: a test of theirs",
        "restored by operator:bob",
    ]
    with pytest.raises(NotNow, match="is open: it cannot be restored"):
        dead_letters.restore(letter.pk, actor="operator:bob")


def test_there_is_none_of_that_number():
    with pytest.raises(NotNow, match="There is no dead letter 7"):
        dead_letters.discard(7, actor="a", reason="b")


def test_the_command_lists_and_shows(make):
    one, two = letter_of(make(body=b"{\x1b[31m")), letter_of(make("k2", body=b"["))
    listed = run("list").splitlines()
    assert [line.split("  ")[0] for line in listed] == [str(one.pk), str(two.pk)]
    assert "acme  key-1  body cannot be read" in listed[0]
    assert run("list", "--client", "other") == "No dead letters of other are open.\n"
    assert [row["message_id"] for row in json.loads(run("list", "--json"))] == ["key-1", "k2"]
    assert "body: ***" in run("show", one.pk)
    shown = run("show", one.pk, "--personal")
    assert "body: {\\u001b[31m" in shown
    assert "\x1b" not in shown
    assert json.loads(run("show", two.pk, "--json", "--personal"))[0]["body"] == "["


def test_nothing_of_theirs_steers_the_terminal_or_forges_a_line(make):
    forged = "\x1b[2J\n9999  2026-11-25 00:00:00  acme  forged\u202e"
    letter = letter_of(make(forged, headers={"client": forged, "token": "x"}, body=b"{\n\x9b1m"))
    listed, shown = run("list"), run("show", letter.pk, "--personal")
    assert len(listed.splitlines()) == 1
    assert "unproven \\u001b[2J\\n9999" in listed
    assert not any(line.startswith("9999") for line in shown.splitlines())
    as_json = run("show", letter.pk, "--json", "--personal")
    for text in (listed, shown, run("show", letter.pk), as_json, run("list", "--json")):
        assert not re.search("[\x1b\x9b\u202e]", text)
    assert json.loads(run("show", letter.pk, "--json"))[0]["client"] == letter.client


def test_the_command_marks_whose_sender_is_not_proven(make):
    letter = letter_of(make("k1", headers={"token": "x"}))
    assert "  unproven acme  k1  " in run("list")
    shown = run("show", letter.pk)
    assert "sender: unproven acme\n" in shown
    assert "client: acme" not in shown
    with pytest.raises(CommandError, match="is not proven to be acme"):
        run("replay", letter.pk)
    assert not Order.objects.exists()
    said = run("replay", letter.pk, "--unproven")
    order = Order.objects.get()
    assert said == f"Dead letter {letter.pk} of unproven acme is replayed: order {order.number}.\n"
    with pytest.raises(CommandError, match="--unproven goes with replay"):
        run("discard", letter.pk, "--reason", "x", "--unproven")


def test_the_command_acts_on_each_by_itself(make):
    wrong = letter_of(make("k0", body=b"{"))
    good = letter_of(make("k1", headers={"token": "x"}))
    with pytest.raises(CommandError, match=f"Dead letter {wrong.pk}: body: cannot be read"):
        run("replay", wrong.pk, good.pk, "--unproven")
    good.refresh_from_db()
    assert good.state == "replayed"
    assert "is discarded." in run("discard", wrong.pk, "--reason", "rubbish")
    assert run("list") == "No dead letters are open.\n"
    assert str(wrong.pk) in run("list", "--state", "discarded")
    assert "is restored." in run("restore", wrong.pk)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["replay"], "Say which to replay"),
        (["discard", "1"], "Say why, with --reason"),
        (["show", "99"], "There is no dead letter 99"),
        (["restore", "99"], "There is no dead letter 99"),
    ],
)
def test_the_command_says_what_is_missing(words, why):
    with pytest.raises(CommandError, match=why):
        run(*words)


def test_operators_are_told_of_a_senders_dead_letters_until_none_is_open(make):
    letters = [handle(make(f"k{n}", body=b"{")).letter for n in range(2)]
    handle(make("k9", body=b"{", headers={"token": "x"}))
    handle(make("k8", body=b"{", headers={"token": "y", "client": "other"}))
    told = Alert.objects.filter(code="dead_letters_open").order_by("pk")
    assert [(one.cause, one.times) for one in told] == [
        ("dead_letters_open:acme", 2),
        ("dead_letters_open:unproven senders", 2),
    ]
    assert "Dead letters of acme are open" in text_of(told[0])
    assert "Dead letters of senders that are not proven are open" in text_of(told[1])
    assert [alert_texts.title(one.code, {"about": "acme", "said": one.params}) for one in told] == [
        "Messages of acme could not become orders",
        "Messages of senders that are not proven could not become orders",
    ]

    assert letters[0]
    assert letters[1]
    dead_letters.discard(letters[0].pk, actor="ann", reason="noise")
    assert alert_resolution.resolve_ended() == 0
    dead_letters.discard(letters[1].pk, actor="ann", reason="noise")
    assert alert_resolution.resolve_ended() == 1
    assert [one.cause for one in told.filter(resolved_at=None)] == [
        "dead_letters_open:unproven senders"
    ]
    handle(make("k10", body=b"{"))
    assert told.filter(resolved_at=None).count() == 2
