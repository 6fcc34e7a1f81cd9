"""An order is seen by whoever knows its link, and by nobody else."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orders.models import Order
from tests.factories import OrderFactory
from tests.shop.conftest import order_with


def near_misses(order: Order) -> list[str]:
    """Return addresses that are almost an order's, and names it goes by elsewhere."""
    secret = order.secret
    other = "a" if secret[-1] != "a" else "b"
    return [
        secret[:-1],
        f"{secret}{other}",
        f"{secret[:-1]}{other}",
        secret.swapcase(),
        secret[::-1],
        "0" * len(secret),
        str(order.number),
        str(order.public_id),
        order.public_id.hex,
        order.submission_key,
        order.process.uid.hex,
    ]


def told(client: Client, path: str) -> tuple[int, bytes, dict[str, str]]:
    answer = client.get(path)
    return answer.status_code, answer.content, dict(answer.headers)


def test_a_wrong_link_is_answered_alike_whether_the_order_exists_or_not():
    order = order_with()
    paths = [f"/orders/{text}/{part}" for text in near_misses(order) for part in ("", "progress/")]
    there = [told(Client(), path) for path in paths]
    Order.objects.all().delete()
    gone = [told(Client(), path) for path in paths]

    assert there == gone
    assert {status for status, *_ in there} == {404}
    assert len({body for _, body, _ in there}) == 1
    assert b"Ada" not in there[0][1]


def test_a_wrong_link_costs_as_much_as_one_of_no_order():
    order = order_with()
    counts = set()
    for text in near_misses(order):
        with CaptureQueriesContext(connection) as queries:
            Client().get(f"/orders/{text}/")
        counts.add(len(queries))
    assert counts == {1}


def test_a_link_shows_its_own_order_and_no_other():
    mine = order_with()
    other = OrderFactory(customer_name="Grace Hopper", customer_email="grace@example.org")
    html = Client().get(mine.get_absolute_url()).content.decode()
    assert f"Order {mine.number}" in html
    for text in ("Grace", "grace@example.org", other.secret, f"Order {other.number}"):
        assert text not in html


def test_the_page_of_an_order_is_for_looking_only():
    order = order_with()
    for method in ("post", "put", "patch", "delete"):
        for path in (order.get_absolute_url(), f"{order.get_absolute_url()}progress/"):
            assert getattr(Client(), method)(path).status_code == 405


def test_no_list_shows_the_orders_of_another_visitor(buyer):
    order = order_with()
    Order.objects.update(submitter="shop:somebody-else")
    assert order.secret not in buyer.get("/my-orders/").content.decode()


def test_every_link_is_drawn_anew_and_long():
    secrets = {OrderFactory().secret for _ in range(20)}
    assert len(secrets) == 20
    assert {len(secret) for secret in secrets} == {22}
