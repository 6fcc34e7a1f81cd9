"""What one sender may leave behind is bounded, and nothing good of anybody is lost by it."""

import re
from datetime import UTC, datetime
from html import unescape
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command

from orders import dead_letters, tokens
from orders.consumer import accepting, handling
from orders.models import DeadLetter, DroppedLetters, Order
from tests.alerts import text_of
from tests.queue_door.conftest import Make, new_client
from workers.desk.texts import alert_texts
from workers.models import Alert

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    monkeypatch.setattr(dead_letters, "MOST_OPEN", 3)
    monkeypatch.setattr(dead_letters, "MOST_OPEN_BYTES", 1000)
    monkeypatch.setattr(dead_letters, "ALERT_EACH", 2)


def rubbish(make: Make, times: int, size: int = 1, **changes: Any) -> list[handling.HandlingResult]:
    return [handling.handle(make(f"bad-{n}", body=b"{" * size, **changes)) for n in range(times)]


def kept(sender: str) -> int:
    return DeadLetter.objects.filter(sender=sender).count()


def dropped(sender: str) -> tuple[int, int]:
    found = DroppedLetters.objects.filter(sender=sender).values_list("count", "bytes").first()
    return found or (0, 0)


def test_a_senders_open_dead_letters_are_bounded_and_the_rest_is_counted(make):
    handled = rubbish(make, 8, size=10)

    assert (kept("acme"), dropped("acme")) == (3, (5, 50))
    assert [one.letter.pk is None for one in handled if one.letter] == [False] * 3 + [True] * 5
    # The submitter is told why all the same.
    assert {one.letter.reasons[0]["field"] for one in handled if one.letter} == {"body"}
    alert = Alert.objects.get(code="dead_letters_full")
    assert (alert.cause, alert.times) == ("dead_letters_full:acme", 3)
    assert "Not kept so far: 5" in text_of(alert)


def test_what_strangers_leave_too_much_of_is_told_as_theirs(make):
    rubbish(make, 4, headers={"client": "<b>ghost", "token": "x"})

    alert = Alert.objects.get(code="dead_letters_full")
    assert alert.cause == "dead_letters_full:unproven senders"
    assert text_of(alert).startswith("Senders that are not proven left 3 dead letters")
    title = alert_texts.title(alert.code, {"about": "", "said": alert.params})
    assert title.startswith("Too many dead letters of senders that are not proven are open")


def test_the_admin_s_list_says_whose_messages_were_not_kept_and_when(make, admin_client):
    rubbish(make, 3)
    assert "sas-dropped" not in admin_client.get("/admin/orders/deadletter/").content.decode()

    rubbish(make, 8)
    rubbish(make, 4, headers={"client": "<b>ghost", "token": "x"})
    DroppedLetters.objects.filter(sender="acme").update(
        count=1234, first_at=datetime(2026, 11, 2, 3, 4, tzinfo=UTC)
    )

    page = admin_client.get("/admin/orders/deadletter/").content.decode()
    (shown,) = re.findall(r'<div class="sas-held sas-dropped">(.+?)</div>', page, re.DOTALL)
    said = re.sub(r"\s+", " ", unescape(re.sub("<[^>]+>", "", shown)))
    assert "All senders that are not proven · 1 message, 1 byte ·" in said
    assert "acme · 1,234 messages, 8 bytes · from 2026-11-02 03:04:00 UTC" in said
    poll = admin_client.get("/admin/orders/deadletter/", headers={"HX-Request": "true"})
    assert "sas-dropped" not in poll.content.decode()


def test_bytes_are_bounded_too(make):
    rubbish(make, 3, size=600)

    assert (kept("acme"), dropped("acme")) == (2, (1, 600))


def test_a_good_order_is_taken_however_much_its_sender_left(make):
    rubbish(make, 5)

    assert handling.handle(make("good")).order
    assert Order.objects.count() == 1


def test_a_message_that_a_fault_of_ours_refused_is_always_kept(make, monkeypatch):
    rubbish(make, 5)

    def fails(*args: object) -> None:
        raise KeyError("ours")

    with monkeypatch.context() as patch:
        patch.setattr(accepting, "accept", fails)
        letter = handling.handle(make("good")).letter
    assert letter
    assert letter.pk
    assert handling.give_up(make("better"), letter_reasons()).letter.pk  # type: ignore[union-attr]
    assert dead_letters.replay(letter.pk, actor="ann").number


def letter_reasons() -> list[Any]:
    return [dead_letters.because("message", "the database failed at it 5 times")]


def test_all_who_are_not_proven_are_bounded_together_and_take_nobodys_room(make):
    for n in range(5):
        rubbish(make, 1, headers={"client": f"made-up-{n}", "token": None})
    assert (kept(""), dropped("")[0]) == (3, 2)

    # Naming a client is not being it.
    rubbish(make, 1, headers={"token": "sas_deadbeef_x"})
    assert (kept(""), kept("acme")) == (3, 0)

    rubbish(make, 1)
    assert kept("acme") == 1


def test_one_sender_takes_nothing_of_anothers_room(make):
    rubbish(make, 5)
    other = tokens.issue(new_client("beta"))

    rubbish(make, 1, headers={"client": "beta", "token": other})

    assert (kept("acme"), kept("beta")) == (3, 1)


def test_there_is_room_again_once_operators_have_dealt_with_some(make):
    rubbish(make, 5)
    dead_letters.discard(DeadLetter.objects.earliest("pk").pk, actor="ann", reason="theirs")

    (handled,) = rubbish(make, 1)

    assert handled.letter
    assert handled.letter.pk


def test_the_terminal_tells_how_many_were_not_kept(make, acme):
    rubbish(make, 5)
    out, err = StringIO(), StringIO()

    call_command("dead_letters", "list", stdout=out, stderr=err)

    assert len(out.getvalue().splitlines()) == 3
    assert "Not kept, as too many were open: 2 messages of acme, 2 bytes" in err.getvalue()
