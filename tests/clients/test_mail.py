"""What the mail agent says where the mail server does not take its mail."""

import smtplib
import socket
from unittest.mock import Mock

import pytest
from django.test import override_settings

from orders.agents import confirmation
from workers.definitions.agent import Call, Deadline
from workers.exceptions import Fault, Permanent, Unavailable

ORDER = {
    "number": 1,
    "total": "9.50",
    "customer": {"name": "Ada", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [],
}
CALL = Call("Order 1", "send_confirmation", "key", 1, ORDER, Deadline(30))


def fault_of(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Fault:
    monkeypatch.setattr(confirmation, "send_mail", Mock(side_effect=error))
    with pytest.raises(Fault) as caught:
        confirmation.SendConfirmation().run(CALL)
    return caught.value


@override_settings(EMAIL_HOST="mail.example.org", EMAIL_PORT=2525)
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "[Errno 111] Connection refused"),
        (socket.gaierror(-2, "Name or service not known"), "[Errno -2] Name or service not known"),
        (smtplib.SMTPConnectError(421, "busy"), "(421, 'busy')"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_server_that_is_not_reached_is_named(
    monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    fault = fault_of(monkeypatch, error)
    assert isinstance(fault, Unavailable)
    assert (fault.code, fault.message) == (
        "mail_server_unreachable",
        f"mail.example.org:2525: {says}",
    )


def test_an_address_that_is_refused_is_not_tried_again_and_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusal = smtplib.SMTPRecipientsRefused({"ada@example.org": (550, b"no such user")})
    fault = fault_of(monkeypatch, refusal)
    assert isinstance(fault, Permanent)
    assert (fault.code, "ada" in fault.message) == ("recipient_refused", False)


def test_a_connection_that_breaks_leaves_the_outcome_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The mail may have left: no fault says that it has not."""
    monkeypatch.setattr(confirmation, "send_mail", Mock(side_effect=ConnectionResetError))
    with pytest.raises(ConnectionResetError):
        confirmation.SendConfirmation().run(CALL)
