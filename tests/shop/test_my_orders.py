"""My orders: the session's on the page, all others by mail, and no word about who is known."""

import re

import pytest
from django.core import mail
from django.test import Client

from orders.views import my_orders
from tests.factories import OrderFactory
from tests.shop.conftest import address

pytestmark = pytest.mark.django_db


def ask(client: Client, email: str) -> str:
    page = client.post("/my-orders/", {"email": email}, follow=True)
    return page.content.decode().replace(email, "ADDRESS")


def without_tokens(html: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", html)


def test_orders_of_this_session_are_listed_and_no_others(buyer: Client) -> None:
    OrderFactory()
    placed = buyer.post("/checkout/", address()).headers["Location"]

    text = buyer.get("/my-orders/").content.decode()

    assert re.findall(r'href="(/orders/[^"]+)"', text) == [placed]
    assert "Received" in text


def test_the_mail_has_the_links_of_all_orders_of_the_address(client: Client) -> None:
    mine = OrderFactory.create_batch(2, customer_email="Ada@example.org")
    other = OrderFactory(customer_email="bob@example.org")

    ask(client, "ada@example.org")

    (sent,) = mail.outbox
    assert sent.to == ["ada@example.org"]
    assert sent.subject == "Your orders"
    for order in mine:
        assert f"http://testserver/orders/{order.secret}/" in sent.body
        assert f"Order {order.number}, " in sent.body
    assert "€37.00 (In progress)" in sent.body
    assert other.secret not in sent.body


def test_the_mail_has_at_most_the_last_twenty_orders(client: Client) -> None:
    orders = OrderFactory.create_batch(21)

    ask(client, "ada@example.org")

    assert mail.outbox[0].body.count("/orders/") == 20
    assert orders[0].secret not in mail.outbox[0].body
    assert orders[20].secret in mail.outbox[0].body


def test_the_answer_is_the_same_whether_the_address_is_known_or_not(client: Client) -> None:
    OrderFactory(customer_email="ada@example.org")

    known = ask(client, "ada@example.org")
    unknown = ask(Client(), "eve@example.org")

    assert "If there are orders for ADDRESS, their links are on the way to it." in known
    assert without_tokens(known) == without_tokens(unknown)
    assert len(mail.outbox) == 1


def test_a_look_alike_address_gets_no_links(client: Client) -> None:
    OrderFactory(customer_email="mike@example.org")

    ask(client, "mi\u212ae@example.org")
    ask(client, "m\u0131ke@example.org")

    assert mail.outbox == []


def test_a_session_may_ask_three_times(client: Client) -> None:
    for number in range(4):
        OrderFactory(customer_email=f"ada{number}@example.org")

    answers = [
        client.post("/my-orders/", {"email": f"ada{number}@example.org"}) for number in range(4)
    ]

    assert [answer.status_code for answer in answers] == [302, 302, 302, 429]
    assert "Please wait ten minutes." in answers[3].content.decode()
    assert len(mail.outbox) == 3


def test_a_session_may_ask_again_later(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    OrderFactory()
    session = client.session
    session[my_orders.ASKED_KEY] = [0.0] * 3
    session.save()

    ask(client, "ada@example.org")

    assert len(mail.outbox) == 1


def test_an_address_gets_one_mail_a_minute_whoever_asks() -> None:
    OrderFactory()

    ask(Client(), "ada@example.org")
    ask(Client(), "ADA@example.org")

    assert len(mail.outbox) == 1


@pytest.mark.parametrize("email", ["", "nonsense", "a\0@example.org", "a@b.c\nBcc: x@y.z", "<b>"])
def test_what_is_no_address_is_refused(client: Client, email: str) -> None:
    answer = client.post("/my-orders/", {"email": email})

    assert answer.status_code == 422
    assert 'id="id_email_error"' in answer.content.decode()
    assert mail.outbox == []


def test_a_mail_server_that_is_down_changes_nothing_in_the_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    OrderFactory()

    def fail(*args: object, **kwargs: object) -> None:
        raise ConnectionRefusedError("mail server is down")

    monkeypatch.setattr(my_orders, "send_mail", fail)

    assert "their links are on the way" in ask(client, "ada@example.org")
