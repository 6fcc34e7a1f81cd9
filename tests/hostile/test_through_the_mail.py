"""The corpus in the mail to the customer: text of its body, as plain text, and no header."""

from email import message_from_bytes

import pytest

from orders.agents.confirmation import SendConfirmation
from tests.hostile import corpus
from workers.definitions.agent import Call, Deadline

pytestmark = pytest.mark.fault("F31")


@pytest.mark.parametrize("name", corpus.LEGAL)
def test_a_text_is_in_the_body_as_it_is(mailoutbox, name):
    text = corpus.LEGAL[name]
    payload = {
        "number": 1,
        "total": "9.50",
        "customer": {"name": text, "email": "ada@example.org", "address": text},
        "lines": [{"quantity": 1, "name": text, "sku": "SKU-001", "price": "9.50"}],
    }

    SendConfirmation().run(Call("Order 1", "send_confirmation", "key", 1, payload, Deadline(30)))

    (mail,) = mailoutbox
    sent = message_from_bytes(mail.message().as_bytes())
    assert (sent["Subject"], sent["To"]) == ("Your order 1", "ada@example.org")
    assert (sent["Bcc"], sent["Cc"]) == (None, None)
    assert sent.get_content_type() == "text/plain"
    body = sent.get_payload(decode=True).decode()
    assert f"Hello {text}," in body
    assert f"  1 x {text}\n" in body
    assert "\nTotal: €9.50\n" in body
