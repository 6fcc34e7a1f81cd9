"""The corpus at the shop's pages: forms, fields, addresses, cookies and headers."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils.html import escape

from orders.models import Order
from orders.plain_text import composed
from tests.factories import OrderFactory
from tests.hostile import corpus, envelopes
from tests.shop.conftest import address, buyer, product

__all__ = ["buyer", "product"]

Rows = Callable[[], dict[str, int]]
TEXTS = envelopes.IN_A_QUERY
CONTROLS = [chr(code) for code in [*range(0x20), *range(0x7F, 0xA0)] if chr(code) not in "\n\r"]


@pytest.fixture
def unchanged(buyer, rows, quiet) -> Callable[[Any], None]:
    """Check, when called with an answer, that it told nothing and that nothing was stored."""
    before = rows()

    def check(answer: Any) -> None:
        assert answer.status_code < 500, answer.content[:300]
        assert rows() == before
        quiet(answer.content.decode())

    return check


@pytest.mark.volume
@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", corpus.NAMES)
def test_a_text_that_looks_dangerous_is_shown_as_it_is(buyer, name):
    text = corpus.LEGAL[name]
    answer = buyer.post("/checkout/", address(name=text, address=f"{text}\n{text}"))
    typed, text = text, composed(text)

    order = Order.objects.get()
    assert (order.customer_name, order.customer_address) == (text, f"{text}\n{text}")
    page = buyer.get(answer["Location"]).content.decode()
    assert_inert(page, text)
    # A form that comes back shows what was typed.
    buyer.post("/basket/add/", {"sku": "MUG"})
    again = buyer.post("/checkout/", address(name=typed, email="nobody")).content.decode()
    assert f'value="{escape(typed)}"' in again
    assert_inert(again, typed)


def assert_inert(page: str, text: str) -> None:
    if escape(text) != text:
        assert text not in page
    assert not re.search(r"<(script>|svg/|img src=x)", page)


@pytest.mark.volume
@pytest.mark.parametrize("field", ["name", "email", "address"])
def test_every_control_character_is_refused(buyer, unchanged, field):
    for char in CONTROLS:
        answer = buyer.post("/checkout/", address(**{field: f"a{char}b@example.org"}))
        assert answer.status_code == 422, repr(char)
        assert "This contains control characters." in answer.content.decode()
        unchanged(answer)


@pytest.mark.fault("F30")
@pytest.mark.parametrize("field", ["name", "email", "address"])
@pytest.mark.parametrize("length", [1_000, 60_000, 2_000_000])
def test_a_text_of_any_length(buyer, unchanged, field, length):
    answer = buyer.post("/checkout/", address(**{field: "x" * length}))
    assert answer.status_code == 422
    unchanged(answer)


@pytest.mark.fault("F30")
def test_a_form_of_10_mb_is_not_read(buyer, unchanged):
    answer = buyer.post(
        "/checkout/", b"name=" + b"x" * 10_000_000, content_type="application/x-www-form-urlencoded"
    )
    assert answer.status_code == 400
    unchanged(answer)


@pytest.mark.fault("F30")
def test_a_form_of_1_001_fields_is_not_read(buyer, unchanged):
    answer = buyer.post("/checkout/", {f"a{n}": "1" for n in range(1001)})
    assert answer.status_code == 400
    unchanged(answer)


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", TEXTS)
def test_a_key_of_ones_own_making(buyer, unchanged, name):
    answer = buyer.post("/checkout/", address(submission_key=TEXTS[name]))
    assert answer.status_code == 422
    assert re.search(r'name="submission_key" value="[0-9a-f-]{36}"', answer.content.decode())
    unchanged(answer)


@pytest.mark.fault("F29")
@pytest.mark.parametrize(
    ("label", "status"),
    [
        ("multipart/form-data; boundary=x", 422),
        ("multipart/form-data", 400),
        ("multipart/form-data; boundary=\x00", 400),
        ("application/x-python-serialize", 422),
        ("application/json", 422),
    ],
)
def test_a_form_of_another_make(buyer, unchanged, label, status):
    for body in (b"\x00", corpus.UNREADABLE["pickle"][0], corpus.text(corpus.ORDER)):
        answer = buyer.post("/checkout/", body, content_type=label)
        assert answer.status_code == status
        unchanged(answer)


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", TEXTS)
def test_a_basket_holds_what_is_sold_and_no_more_than_it_may(buyer, unchanged, name):
    text = TEXTS[name]
    answer = buyer.post("/basket/add/", {"sku": text, "quantity": "1"})
    assert answer.status_code == 404
    unchanged(answer)
    for path, form in (
        ("/basket/add/", {"sku": "MUG", "quantity": text}),
        ("/basket/remove/", {"sku": text}),
        ("/basket/", {"quantity-MUG": text, f"quantity-{text}": text}),
    ):
        answer = buyer.post(path, form)
        unchanged(answer)
        assert set(buyer.session["basket"]) == {"MUG"}
        assert 1 <= buyer.session["basket"]["MUG"] <= 99


@pytest.mark.parametrize("name", TEXTS)
def test_an_address_of_mail_that_is_none(buyer, unchanged, mailoutbox, name):
    answer = buyer.post("/my-orders/", {"email": TEXTS[name]})
    assert answer.status_code == 422
    unchanged(answer)
    assert mailoutbox == []


@pytest.mark.fault("F31")
@pytest.mark.parametrize("name", TEXTS)
def test_whatever_is_asked_of_a_page(buyer, rows, quiet, name):
    text = TEXTS[name]
    order = OrderFactory()
    before = rows()
    asked = {"seen": text, "said": text, "q": text, "page": text, "next": text, text: text}
    headers = {"HX-Request": "true", "HX-Current-URL": text.replace("\x00", ""), "Referer": "x://["}
    for path in ("", "basket/", "checkout/", "my-orders/", "products/MUG/"):
        answer = buyer.get(f"/{path}", asked)
        assert answer.status_code == 200, path
        assert_inert(answer.content.decode(), text)
    for path in (f"/orders/{order.secret}/", f"/orders/{order.secret}/progress/"):
        answer = buyer.get(path, asked, headers={k: v for k, v in headers.items() if v.isascii()
                                                 and v.isprintable()})  # fmt: skip
        assert answer.status_code == 200, path
        assert_inert(answer.content.decode(), text)
    assert rows() == before
    quiet()


@pytest.mark.parametrize(
    "path",
    [
        "/products/%00/",
        "/products/%FF/",
        "/products/%ED%A0%80/",
        "/products/..%2f..%2fetc%2fpasswd/",
        "/products/'%20OR%201=1/",
        "/products/" + "x" * 8000 + "/",
        "/products/%F0%9F%8F%AE/",
        "/orders/%00/",
        "/orders/1/",
        "/orders/..%2f/",
        "/orders/x%0d%0aSet-Cookie:a=b/",
        "/orders/" + "x" * 8000 + "/",
        "/orders/\u00fc/progress/",
        "//evil.example/%2e%2e",
        "/static/..%2f..%2fmanage.py",
        "/static/%00",
    ],
)
def test_an_address_that_is_not_there(buyer, unchanged, path):
    answer = buyer.get(path)
    assert answer.status_code == 404
    unchanged(answer)


@pytest.mark.parametrize("cookie", ["sessionid", "csrftoken", "messages"])
@pytest.mark.parametrize("name", ["nothing", "NUL", "SQL", "markup", "a path", "a long word"])
def test_a_cookie_of_ones_own_making(buyer, unchanged, cookie, name):
    stranger = Client()
    stranger.cookies[cookie] = "x"
    stranger.cookies[cookie].set(cookie, TEXTS[name], TEXTS[name])
    for path in ("/", "/basket/", "/checkout/", "/my-orders/", "/admin/"):
        unchanged(stranger.get(path))
