"""Whatever visitors type: refused with a clear word, or stored as it is."""

import pytest

from orders.models import Order
from tests.shop.conftest import address, count_rows


@pytest.mark.parametrize("field", ["name", "email", "address"])
@pytest.mark.parametrize(
    "bad", ["\0", "\x07", "\x1b[31m", "\x7f", "\x85", "\t", "\u202e", "\u2066"]
)
def test_control_characters_are_refused_in_clear_words(buyer, field, bad):
    answer = buyer.post("/checkout/", address(**{field: f"a{bad}b@example.org"}))

    assert answer.status_code == 422
    assert "This contains control characters." in answer.content.decode()
    assert count_rows() == (0, 0)


def test_a_name_of_two_lines_is_refused(buyer):
    answer = buyer.post("/checkout/", address(name="Ada\nBcc: all@example.org"))

    assert answer.status_code == 422
    assert count_rows() == (0, 0)


@pytest.mark.parametrize(("field", "longest"), [("name", 120), ("address", 500)])
def test_text_is_taken_up_to_the_length_of_its_column(buyer, field, longest):
    refused = buyer.post("/checkout/", address(**{field: "x" * (longest + 1)}))
    rows = count_rows()
    accepted = buyer.post("/checkout/", address(**{field: "x" * longest}))

    assert refused.status_code == 422
    assert f"at most {longest} characters" in refused.content.decode()
    assert rows == (0, 0)
    assert accepted.status_code == 302
    assert count_rows() == (1, 1)


def test_lines_of_an_address_are_stored_with_one_kind_of_ending(buyer):
    buyer.post("/checkout/", address(address="12 St James's Square\r\nLondon"))

    assert Order.objects.get().customer_address == "12 St James's Square\nLondon"


def test_what_looks_the_same_is_stored_the_same(buyer):
    buyer.post("/checkout/", address(name="Franc\u0327ois", address="1 rue de l'E\u0301cole"))

    order = Order.objects.get()
    assert order.customer_name == "Fran\u00e7ois"
    assert order.customer_address == "1 rue de l'\u00c9cole"
    assert order.process.input["customer"]["name"] == "Fran\u00e7ois"


def test_name_that_unicode_composition_lengthens_is_stored_unchanged(buyer):
    buyer.post("/checkout/", address(name="\u0958" * 120))

    assert Order.objects.get().customer_name == "\u0958" * 120


@pytest.mark.parametrize("field", ["name", "address"])
@pytest.mark.parametrize("text", ["\u200b\u200b", "\ufeff", "\u00ad \u2800", "\u3164"])
def test_name_or_address_of_invisible_characters_is_refused(buyer, field, text):
    answer = buyer.post("/checkout/", address(**{field: text}))

    assert answer.status_code == 422
    assert "Please enter" in answer.content.decode()
    assert count_rows() == (0, 0)


@pytest.mark.parametrize("name", ["\U0001f98a", "李", "Ö", "7"])
def test_whatever_is_visible_is_a_name(buyer, name):
    assert buyer.post("/checkout/", address(name=name)).status_code == 302


@pytest.mark.parametrize(
    ("email", "says"),
    [
        ("josé@example.org", "mail to “josé” would not arrive"),
        ("用户@例え.jp", "mail to “用户” would not arrive"),
        ("ada@localhost", "Enter a valid email address."),
        ("ada", "Enter a valid email address."),
        ("", "Please enter your e-mail address."),
    ],
)
def test_a_mail_address_is_refused_with_what_is_wrong(buyer, email, says):
    answer = buyer.post("/checkout/", address(email=email))

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert count_rows() == (0, 0)


@pytest.mark.parametrize("email", ["taro＠example.jp", "ｔａｒｏ@example.jp", " taro@example.jp "])
def test_full_width_letters_of_an_address_are_the_plain_ones(buyer, email):
    buyer.post("/checkout/", address(email=email))

    assert Order.objects.get().customer_email == "taro@example.jp"


def test_no_field_of_the_checkout_is_cut_in_silence(buyer):
    assert "maxlength" not in buyer.get("/checkout/").content.decode()
    assert "maxlength" not in buyer.get("/my-orders/").content.decode()
