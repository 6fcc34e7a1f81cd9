"""A buyer cancels an order until it is too late, and asks for a return; both on its pages."""

import pytest
from django.test import Client
from django.utils import timezone

from orders.models import Order, Return
from tests.factories import ProcessFactory
from tests.shop.conftest import order_with
from tests.shop.test_money import end
from tests.shop.test_order_page import page_of, text_of
from workers.models import Journal, Process

SENT = {"book_shipment": {"processed": True}, "issue_invoice": {"processed": True}}


def with_no_return(state: str = "processing", **steps: dict[str, object]) -> Order:
    order = order_with(**steps)
    names = ["book_shipment", "issue_invoice"]
    Process.objects.filter(pk=order.process_id).update(no_return=names)
    if state != "processing":
        end(order.process_id, state)
    return order


def read(client: Client, order: Order, what: str) -> tuple[int, str]:
    answer = client.get(f"{order.get_absolute_url()}{what}/", follow=True)
    return answer.status_code, text_of(answer.content.decode())


def send(client: Client, order: Order, what: str, **data: str) -> str:
    answer = client.post(f"{order.get_absolute_url()}{what}/", data, follow=True)
    assert answer.status_code == 200
    return text_of(answer.content.decode())


@pytest.mark.parametrize(
    ("charge", "words"),
    [
        ({"pending": True}, "You are not charged."),
        ({"processed": True, "result": {"charge": "ch_1"}}, "Your payment of €37.00 is refunded."),
        ({"started": True, "may_have_effect": True}, "If your payment was taken, it is refunded."),
    ],
)
def test_an_order_is_cancelled_by_its_buyer_who_knows_what_it_means(client, charge, words):
    order = with_no_return(charge_payment=charge)
    assert "Cancel this order" in page_of(client, order)
    status, page = read(client, order, "cancel")
    assert status == 200
    assert f"Cancel order {order.number}?" in page
    assert words in page
    assert Process.objects.get().outcome is None

    text = send(client, order, "cancel")

    assert "Your order is being cancelled." in text
    assert "Cancel this order" not in text
    assert Process.objects.get().outcome == "cancelled"
    assert Journal.objects.get(event="compensating").actor == "buyer"


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (lambda: with_no_return(**SENT), "It is too late to cancel this order: your parcel"),
        (lambda: with_no_return("processed", **SENT), "too late to cancel this order: it is"),
        (lambda: with_no_return("cancelled"), "being undone already, or was"),
        (lambda: with_no_return("compensated"), "being undone already, or was"),
    ],
    ids=["past its point of no return", "processed", "cancelled", "compensated"],
)
def test_an_order_that_is_too_far_is_not_cancelled_and_says_why(client, order, words):
    assert callable(order)
    row = order()
    before = Process.objects.values().get()
    assert "Cancel this order" not in page_of(client, row)

    for text in (read(client, row, "cancel")[1], send(client, row, "cancel")):
        assert words in text
    assert Process.objects.values().get() == before


def test_a_complete_order_is_sent_back_once(client):
    order = order_with("processed", charge_payment={"processed": True, "result": {}})
    assert "Send this order back" in page_of(client, order)
    assert "Then your payment of €37.00 is refunded." in read(client, order, "return")[1]
    assert not Return.objects.exists()

    text = send(client, order, "return", reason="too small")

    assert "You may send it back." in text
    assert "Send this order back" not in text
    process = Return.objects.get().process
    assert process.input["reason"] == "too small"
    assert Journal.objects.get(process=process, event="submitted").actor == "buyer"
    for again in (read(client, order, "return")[1], send(client, order, "return")):
        assert "The return of this order has begun already." in again
    assert Return.objects.count() == 1


def test_a_return_that_came_to_nothing_can_be_asked_for_again(client):
    order = order_with("processed", charge_payment={"skipped": True})
    over = ProcessFactory(state="compensated", outcome="compensated", finished_at=timezone.now())
    Return.objects.create(order=order, process=over)

    assert "Send this order back" in page_of(client, order)
    assert "nothing is refunded" in read(client, order, "return")[1]


def test_an_order_that_is_not_complete_is_not_sent_back(client):
    order = order_with()

    for text in (read(client, order, "return")[1], send(client, order, "return")):
        assert "only a complete order can" in text
    assert not Return.objects.exists()


def test_a_reason_that_is_too_long_is_refused_at_its_field(client):
    order = order_with("processed", charge_payment={"processed": True, "result": {}})

    answer = client.post(f"{order.get_absolute_url()}return/", {"reason": "x" * 501})

    assert answer.status_code == 422
    assert "at most 500 characters" in answer.content.decode()
    assert not Return.objects.exists()


@pytest.mark.parametrize("what", ["cancel", "return"])
def test_what_is_asked_needs_the_link_and_the_form(what):
    order = order_with()
    strict = Client(enforce_csrf_checks=True)

    assert strict.get(f"/orders/{order.secret[:-1]}/{what}/").status_code == 404
    assert strict.post(f"{order.get_absolute_url()}{what}/").status_code == 403
    assert Process.objects.get().outcome is None
