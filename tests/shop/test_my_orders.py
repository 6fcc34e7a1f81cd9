"""My orders: the session's on the page, all others by mail, and no word about who is known."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders import later, retention
from orders.models import RateCount
from orders.rate_limits import Limit, first_exceeded
from orders.views import my_orders
from tests.factories import OrderFactory
from tests.shop.conftest import address


def ask(client: Client, email: str) -> str:
    page = client.post("/my-orders/", {"email": email}, follow=True)
    return page.content.decode().replace(email, "ADDRESS")


def without_tokens(html: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)


def test_orders_of_this_session_are_listed_and_no_others(buyer):
    OrderFactory()
    placed = buyer.post("/checkout/", address()).headers["Location"]

    text = buyer.get("/my-orders/").content.decode()

    assert re.findall(r'href="(/orders/[^"]+)"', text) == [placed]
    assert "Received" in text


def test_the_mail_has_the_links_of_all_orders_of_the_address(client):
    mine = OrderFactory.create_batch(2, customer_email="Ada@example.org")
    other = OrderFactory(customer_email="bob@example.org")

    ask(client, "ada@example.org")

    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "Your orders"
    for order in mine:
        assert f"http://127.0.0.1:8000/orders/{order.secret}/" in sent.body
        assert f"Order {order.number}, " in sent.body
    assert "€37.00 (In progress)" in sent.body
    assert other.secret not in sent.body


@pytest.mark.parametrize(
    "asked_at", [{"HTTP_HOST": "testserver:9999"}, {"HTTP_X_FORWARDED_HOST": "evil.example"}]
)
def test_links_in_mails_lead_to_the_shop_wherever_it_was_asked(client, settings, asked_at):
    settings.SHOP_URL = "https://shop.example.org/"
    order = OrderFactory(customer_email="ada@example.org")

    client.post("/my-orders/", {"email": "ada@example.org"}, **asked_at)

    (sent,) = mail.outbox
    assert f"https://shop.example.org/orders/{order.secret}/" in sent.body
    assert "9999" not in sent.body
    assert "evil" not in sent.body


def test_the_mail_has_at_most_the_last_twenty_orders(client):
    orders = OrderFactory.create_batch(21)

    ask(client, "ada@example.org")

    assert mail.outbox[0].body.count("/orders/") == 20
    assert orders[0].secret not in mail.outbox[0].body
    assert orders[20].secret in mail.outbox[0].body


def test_the_answer_is_the_same_whether_the_address_is_known_or_not(client):
    OrderFactory(customer_email="ada@example.org")

    known = ask(client, "ada@example.org")
    unknown = ask(Client(), "eve@example.org")

    assert "If there are orders for ADDRESS, their links are on the way to it." in known
    assert without_tokens(known) == without_tokens(unknown)
    assert len(mail.outbox) == 1


def test_a_look_alike_address_gets_no_links(client):
    OrderFactory(customer_email="mike@example.org")

    ask(client, "mi\u212ae@example.org")
    ask(client, "m\u0131ke@example.org")

    assert mail.outbox == []


def rows() -> int:
    return RateCount.objects.count()


def asked_from(network: str, email: str) -> int:
    return Client().post("/my-orders/", {"email": email}, REMOTE_ADDR=network).status_code


def test_a_network_address_may_ask_five_times_whatever_its_cookies():
    for number in range(6):
        OrderFactory(customer_email=f"ada{number}@example.org")

    answers = [asked_from("192.0.2.1", f"ada{number}@example.org") for number in range(6)]

    assert answers == [302] * 5 + [429]
    assert len(mail.outbox) == 5
    assert asked_from("198.51.100.7", "ada5@example.org") == 302
    assert len(mail.outbox) == 6


def test_all_together_may_ask_so_often_and_then_make_no_more_rows(monkeypatch):
    monkeypatch.setattr(my_orders, "IN_ALL", Limit("my_orders.all", 4, 600))
    OrderFactory(customer_email="last@example.org")
    answers = [asked_from(f"192.0.2.{n}", f"ada{n}@example.org") for n in range(4)]
    before = rows()

    last = Client().post("/my-orders/", {"email": "last@example.org"}, REMOTE_ADDR="192.0.2.9")

    assert answers == [302] * 4
    assert last.status_code == 429
    assert "Try again in ten minutes." in last.content.decode()
    assert rows() == before
    assert mail.outbox == []


def test_repeated_requests_send_mailbox_one_mail_and_are_answered_alike():
    OrderFactory()

    answers = [asked_from(f"192.0.2.{n}", email) for n, email in enumerate(["ada@example.org"] * 7)]
    asked_from("198.51.100.7", "ADA@example.org")

    assert answers == [302] * 7
    assert len(mail.outbox) == 1


def test_counts_are_of_one_period_and_are_pruned_after_it():
    limit, at = Limit("test", 2, 60), datetime(2026, 1, 1, 12, 0, 30, tzinfo=UTC)
    prune_counts = retention.COUNTS.prune
    counted = [(limit, "somebody")]

    assert [first_exceeded(counted, at) for _ in range(3)] == [None, None, limit]
    assert first_exceeded([(limit, "another")], at) is None
    assert first_exceeded(counted, at + timedelta(seconds=30)) is None

    assert sum(prune_counts(100, at + timedelta(seconds=59))) == 1
    assert sum(prune_counts(100, at + timedelta(seconds=91))) == 1
    assert rows() == 0


def test_rate_counts_store_no_email_or_ip_address():
    asked_from("192.0.2.1", "lovelace@example.org")

    # No name of hexadecimal digits: a digest may have those in it.
    text = str(list(RateCount.objects.values()))
    assert "lovelace" not in text
    assert "192.0.2.1" not in text


def test_a_question_does_the_same_whether_the_address_is_known(monkeypatch):
    OrderFactory()
    left = []
    monkeypatch.setattr(later, "put", lambda name, do: left.append(do))
    statements = []
    for email in ("ada@example.org", "eve@example.org"):
        with CaptureQueriesContext(connection) as asked:
            assert asked_from("192.0.2.1", email) == 302
        statements.append([re.sub(r"'[^']*'|\d+", "?", one["sql"]) for one in asked])

    assert statements[0] == statements[1]
    assert not [one for one in statements[0] if "customer_email" in one]
    assert mail.outbox == []
    for do in left:
        do()
    assert [one.to for one in mail.outbox] == [["ada@example.org"]]


def test_full_queue_gives_known_and_unknown_address_the_same_503(monkeypatch):
    OrderFactory()

    def full(name: str, do: object) -> None:
        raise later.Full

    monkeypatch.setattr(later, "put", full)

    for email in ("ada@example.org", "eve@example.org"):
        answer = Client().post("/my-orders/", {"email": email})
        assert (answer.status_code, answer["Retry-After"]) == (503, "5")
        assert "try again in a few minutes" in answer.content.decode()


@pytest.mark.parametrize("email", ["", "nonsense", "a\0@example.org", "a@b.c\nBcc: x@y.z", "<b>"])
def test_what_is_no_address_is_refused(client, email):
    answer = client.post("/my-orders/", {"email": email})

    assert answer.status_code == 422
    assert 'id="id_email_error"' in answer.content.decode()
    assert mail.outbox == []
