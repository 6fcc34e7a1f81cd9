"""The confirmation mail."""

import smtplib
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.utils.translation import gettext

from workers import Agent, Call, Effect, Permanent, Unavailable, register_agent

#: The first of SMTP's codes that are final; those below may pass, as greylisting does.
PERMANENT = 500
#: Attempts after which a server that defers has refused: with the backoff between them about two
#: hours, which is longer than any greylisting.
MOST_DEFERRALS = 60


@register_agent
class SendConfirmation(Agent):
    """Mail the customer.  A mail server keeps no keys, so an unknown outcome is not repeated."""

    name = "confirmation.send"
    effect = Effect.UNSAFE

    def run(self, call: Call) -> dict[str, Any]:
        order = call.payload
        subject = gettext("Your order %(number)s") % {"number": order["number"]}
        body = render_to_string("orders/confirmation_mail.txt", {"order": order})
        customer = order["customer"]["email"]
        _mail(EmailMessage(subject, body, from_email=None, to=[customer]), call.attempt)
        return {"mailed": True}


def _mail(message: EmailMessage, attempt: int) -> None:
    """Send a mail; raise the fault that the server's answer proves.

    What fails before the mail is handed over has not sent it, whatever it is called: connecting,
    greeting, encryption, login.  A refusal in between has not, either.  After that a connection
    that breaks proves nothing, and is raised as it is.
    """
    connection = get_connection()
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable("mail_server_unreachable", _of_server(error), no_effect=True) from error
    try:
        connection.send_messages([message])
    except smtplib.SMTPRecipientsRefused as error:
        code = max((code for code, _said in error.recipients.values()), default=PERMANENT)
        if code < PERMANENT and attempt < MOST_DEFERRALS:
            said = f"the mail server defers the address: {code}"
            raise Unavailable("recipient_deferred", said, no_effect=True) from error
        said = "the mail server refused the address"
        raise Permanent("recipient_refused", said, no_effect=True) from error
    except smtplib.SMTPSenderRefused as error:
        # Every mail would fail so: ours to mend, no fault of this order.
        raise Unavailable("mail_sender_refused", _of_server(error), no_effect=True) from error
    except smtplib.SMTPDataError as error:
        if error.smtp_code < PERMANENT and attempt < MOST_DEFERRALS:
            said = f"the mail server defers the mail: {error.smtp_code}"
            raise Unavailable("mail_deferred", said, no_effect=True) from error
        said = f"the mail server refused the mail: {error.smtp_code}"
        raise Permanent("mail_refused", said, no_effect=True) from error
    finally:
        # Whether it was sent is known by now.
        with suppress(Exception):
            connection.close()


def _of_server(error: Exception) -> str:
    return f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}: {error}"
