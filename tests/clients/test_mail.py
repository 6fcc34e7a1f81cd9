"""What the mail agent says where the mail server does not take its mail: what its answer proves."""

import smtplib
import socket
import ssl
from dataclasses import replace
from unittest.mock import Mock

import pytest
from django.core import mail
from django.test import override_settings

from orders.agents import confirmation
from workers.definitions import registry
from workers.definitions.agent import Call, Deadline
from workers.exceptions import DeadlinePassed, Fault, Permanent, Unavailable

ORDER = {
    "number": 1,
    "total": "9.50",
    "customer": {"name": "Ada", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [],
}
#: It has time until the last test has run.
CALL = Call("Order 1", "send_confirmation", "key", 1, ORDER, Deadline(86_400))
LAST = replace(CALL, attempt=confirmation.MOST_DEFERRALS)


@pytest.fixture
def server(monkeypatch) -> Mock:
    server = Mock()
    monkeypatch.setattr(confirmation, "get_connection", lambda: server)
    return server


def fault_of(call: Call = CALL) -> Fault:
    with pytest.raises(Fault) as caught:
        confirmation.SendConfirmation().run(call)
    return caught.value


@override_settings(EMAIL_HOST="mail.example.org", EMAIL_PORT=2525)
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "[Errno -2] Name or service not known"),
        (smtplib.SMTPConnectError(421, "busy"), "(421, 'busy')"),
        (TimeoutError("timed out"), "timed out"),
        (smtplib.SMTPServerDisconnected("closed"), "closed"),
        (smtplib.SMTPHeloError(421, "later"), "(421, 'later')"),
        (smtplib.SMTPNotSupportedError("no STARTTLS"), "no STARTTLS"),
        (ssl.SSLError("bad certificate"), "('bad certificate',)"),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8"), "(535, b'5.7.8')"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_fails_before_the_mail_is_handed_over_parks(server, error, says):
    server.open.side_effect = error
    fault = fault_of()
    assert isinstance(fault, Unavailable)
    assert (fault.code, fault.message) == (
        "mail_server_unreachable",
        f"mail.example.org:2525: {says}",
    )
    server.send_messages.assert_not_called()


REFUSED = smtplib.SMTPRecipientsRefused
REFUSALS = [
    (REFUSED({"ada@example.org": (450, b"4.2.0 Greylisted")}), Unavailable, "recipient_deferred"),
    (REFUSED({"ada@example.org": (421, b"closing")}), Unavailable, "recipient_deferred"),
    (REFUSED({"ada@example.org": (550, b"no such user")}), Permanent, "recipient_refused"),
    (smtplib.SMTPSenderRefused(530, b"login first", "x"), Unavailable, "mail_sender_refused"),
    (smtplib.SMTPDataError(451, b"later"), Unavailable, "mail_deferred"),
    (smtplib.SMTPDataError(554, b"spam"), Permanent, "mail_refused"),
]


@pytest.mark.parametrize(("error", "kind", "code"), REFUSALS)
def test_a_refusal_is_judged_by_its_code(server, error, kind, code):
    server.send_messages.side_effect = error
    fault = fault_of()
    assert (type(fault), fault.code) == (kind, code)
    assert "ada" not in fault.message
    server.close.assert_called_once_with()


@pytest.mark.parametrize("place", [0, 4])
def test_a_server_that_defers_for_ever_has_refused(server, place):
    server.send_messages.side_effect = REFUSALS[place][0]
    assert isinstance(fault_of(replace(CALL, attempt=LAST.attempt - 1)), Unavailable)
    assert isinstance(fault_of(LAST), Permanent)


@pytest.mark.parametrize(
    "error", [ConnectionResetError(), TimeoutError(), smtplib.SMTPServerDisconnected("closed")]
)
def test_a_connection_that_breaks_leaves_the_outcome_unknown(server, error):
    """The mail may have left: no fault says that it has not."""
    server.send_messages.side_effect = error
    with pytest.raises(type(error)):
        confirmation.SendConfirmation().run(CALL)


def test_nothing_is_handed_over_once_the_time_is_over(server):
    """Its step has expired, and done again it would be mailed twice."""
    deadline = Deadline(6)
    server.open.side_effect = lambda: setattr(deadline, "_end", 0.0)

    with pytest.raises(DeadlinePassed):
        confirmation.SendConfirmation().run(replace(CALL, deadline=deadline))

    server.send_messages.assert_not_called()
    server.close.assert_called_once()


def test_the_mail_server_has_no_longer_than_the_call(server):
    confirmation.SendConfirmation().run(replace(CALL, deadline=Deadline(6)))

    (limit,) = server.connection.sock.settimeout.call_args.args
    assert 4 < limit < 5.5
    assert 4 < server.timeout < 5.5


def test_a_mail_that_was_taken_is_sent_however_the_connection_ends(server):
    server.close.side_effect = smtplib.SMTPServerDisconnected("closed")
    assert confirmation.SendConfirmation().run(CALL) == {"mailed": True}


def test_the_customer_is_mailed():
    assert confirmation.SendConfirmation().run(CALL) == {"mailed": True}
    assert [message.to for message in mail.outbox] == [["ada@example.org"]]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        ({"charge_payment": {}, "book_shipment": {}}, "Your order 1 at Lantern & Loom is paid and"),
        ({"charge_payment": {}}, "Your order 1 at Lantern & Loom is paid:"),
        ({"book_shipment": {}}, "thank you for your order 1 at Lantern & Loom:"),
        ({}, "thank you for your order 1 at Lantern & Loom:"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_mail_calls_an_order_paid_and_shipped_only_if_those_steps_were_done(
    version, results, words
):
    spec = registry.workflow("fulfilment", version).step("send_confirmation")

    confirmation.SendConfirmation().run(replace(CALL, payload=spec.request(ORDER, results)))

    body = mail.outbox[0].body
    assert words in body
    assert ("is paid" in body, "on its way" in body) == (
        "charge_payment" in results,
        len(results) == 2,
    )
