"""Mails to the buyer: the notices of an order, and that it is on its way."""

import smtplib
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.template import Engine

from orders import wording
from workers import Agent, Call, Effect, Permanent, Unavailable, register_agent

#: SMTP codes from here on are final; lower ones are temporary, such as greylisting.
PERMANENT = 500
#: Attempts after which a deferral counts as a refusal: about two hours with the backoff between
#: them, longer than any greylisting.
MOST_DEFERRALS = 60
#: A socket that may wait 0 s would not wait at all.
LEAST_SECONDS = 0.1
# Django's own engine would load the template tags of all apps, and with them the admin's pages.
_FOLDER = str(Path(__file__).parents[1] / "templates")
MAILS = Engine([_FOLDER], libraries={"i18n": "django.templatetags.i18n"}, autoescape=False)


@register_agent
class SendConfirmation(Agent):
    """Mail the buyer.  SMTP has no idempotency keys, so an unknown outcome is not retried."""

    name = "confirmation.send"
    effect = Effect.UNSAFE

    def run(self, call: Call) -> dict[str, Any]:
        notice = call.payload
        subject, news, following = wording.notice(notice)
        context = {"notice": notice, "news": news, "next": following}
        body = MAILS.render_to_string("orders/notice_mail.txt", context)
        buyer = notice["customer"]["email"]
        _mail(EmailMessage(subject, body, from_email=None, to=[buyer]), call)
        return {"mailed": True}


def _mail(message: EmailMessage, call: Call) -> None:
    """Send a mail; raise the fault that the server's answer proves.

    Nothing is handed over once the time of the call is over: its step has expired by then, and
    whoever has it done again would mail twice.

    A failure before the mail is handed over (connecting, greeting, encryption, login) proves that
    it was not sent, and so does a refusal.  A connection that breaks later proves nothing: its
    exception is raised unchanged.
    """
    connection: Any = get_connection()
    connection.timeout = _seconds_left(call)
    try:
        connection.open()
    except (OSError, smtplib.SMTPException) as error:
        raise Unavailable("mail_server_unreachable", _with_host(error), no_effect=True) from error
    attempt = call.attempt
    try:
        # Each part of opening has its own time limit, and finding this host's name has none.
        call.deadline.check()
        _limit(connection, _seconds_left(call))
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


def _seconds_left(call: Call) -> float:
    return min(settings.EMAIL_TIMEOUT or inf, max(call.deadline.remaining(), LEAST_SECONDS))


def _limit(connection: Any, seconds: float) -> None:
    """Have an open connection wait no longer than that for each answer; only SMTP has one."""
    socket = getattr(getattr(connection, "connection", None), "sock", None)
    if socket is not None:
        socket.settimeout(seconds)


def _with_host(error: Exception) -> str:
    return f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}: {error}"
