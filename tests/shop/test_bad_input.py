"""Whatever visitors type: refused with a clear word, or stored as it is and shown inert."""

import pytest
from django.test import Client

from orders.models import Order
from tests.shop.conftest import address, count_rows

MARKUP = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}{% debug %}",
    "'; DROP TABLE orders_order; --",
    "%s %(name)s {0}",
    "Zoë 🏮 Ünal 李",
    "\u202egnp.exe",
]


@pytest.mark.parametrize("text", MARKUP)
def test_markup_is_stored_as_it_is_and_shown_escaped(buyer: Client, text: str) -> None:
    answer = buyer.post("/checkout/", address(name=text, address=f"{text}\nLondon"))

    order = Order.objects.get()
    assert order.customer_name == text
    assert order.customer_address == f"{text}\nLondon"
    page = buyer.get(answer.headers["Location"]).content.decode()
    assert "<script>" not in page
    assert "<img src=x" not in page


@pytest.mark.parametrize("field", ["name", "email", "address"])
@pytest.mark.parametrize("bad", ["\0", "\x07", "\x1b[31m", "\x7f", "\x85", "\t"])
def test_control_characters_are_refused_in_clear_words(buyer: Client, field: str, bad: str) -> None:
    answer = buyer.post("/checkout/", address(**{field: f"a{bad}b@example.org"}))

    assert answer.status_code == 422
    assert "This contains control characters." in answer.content.decode()
    assert count_rows() == (0, 0)


def test_a_name_of_two_lines_is_refused(buyer: Client) -> None:
    answer = buyer.post("/checkout/", address(name="Ada\nBcc: all@example.org"))

    assert answer.status_code == 422
    assert count_rows() == (0, 0)


@pytest.mark.parametrize(("field", "longest"), [("name", 120), ("address", 500)])
def test_text_is_taken_up_to_the_length_of_its_column(
    buyer: Client, field: str, longest: int
) -> None:
    refused = buyer.post("/checkout/", address(**{field: "x" * (longest + 1)}))
    rows = count_rows()
    accepted = buyer.post("/checkout/", address(**{field: "x" * longest}))

    assert refused.status_code == 422
    assert f"at most {longest} characters" in refused.content.decode()
    assert rows == (0, 0)
    assert accepted.status_code == 302
    assert count_rows() == (1, 1)


def test_huge_input_is_refused(buyer: Client) -> None:
    answer = buyer.post("/checkout/", address(address="x" * 1_000_000))

    assert answer.status_code == 422
    assert count_rows() == (0, 0)


def test_lines_of_an_address_are_stored_with_one_kind_of_ending(buyer: Client) -> None:
    buyer.post("/checkout/", address(address="12 St James's Square\r\nLondon"))

    assert Order.objects.get().customer_address == "12 St James's Square\nLondon"
