"""The confirmation mail."""

import smtplib
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template.loader import render_to_string
from django.utils.translation import gettext

from workers import Agent, Call, Effect, Permanent, Unavailable, register_agent

#: SMTP codes from here on are final; lower ones are temporary, such as greylisting.
PERMANENT = 500
#: Attempts after which a deferral counts as a refusal: about two hours with the backoff between
#: them, longer than any greylisting.
MOST_DEFERRALS = 60


@register_agent
class SendConfirmation(Agent):
    """Mail the customer.  SMTP has no idempotency keys, so an unknown outcome is not retried."""

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

    A failure before the mail is handed over (connecting, greeting, encryption, login) proves that
    it was not sent, and so does a refusal.  A connection that breaks later proves nothing: its
    exception is raised unchanged.
    """
    connection = get_connection()
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable("mail_server_unreachable", _with_host(error), no_effect=True) from error
    try:
        connection.send_messages([message])
    except smtplib.SMTPRecipientsRefused as error:
        code = max((code for code, _text in error.recipients.values()), default=PERMANENT)
        if code < PERMANENT and attempt < MOST_DEFERRALS:
            detail = f"the mail server defers the address: {code}"
            raise Unavailable("recipient_deferred", detail, no_effect=True) from error
        detail = "the mail server refused the address"
        raise Permanent("recipient_refused", detail, no_effect=True) from error
    except smtplib.SMTPSenderRefused as error:
        # Every mail would fail like this: a fault of our configuration, not of this order.
        raise Unavailable("mail_sender_refused", _with_host(error), no_effect=True) from error
    except smtplib.SMTPDataError as error:
        if error.smtp_code < PERMANENT and attempt < MOST_DEFERRALS:
            detail = f"the mail server defers the mail: {error.smtp_code}"
            raise Unavailable("mail_deferred", detail, no_effect=True) from error
        detail = f"the mail server refused the mail: {error.smtp_code}"
        raise Permanent("mail_refused", detail, no_effect=True) from error
    finally:
        # The outcome is known by now.
        with suppress(Exception):
            connection.close()


def _with_host(error: Exception) -> str:
    return f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}: {error}"
