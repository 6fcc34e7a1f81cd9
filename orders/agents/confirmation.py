"""The confirmation mail."""

import smtplib
import socket
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext

from workers import Agent, Call, Effect, Permanent, Unavailable, register_agent


@register_agent
class SendConfirmation(Agent):
    """Mail the customer.  A mail server keeps no keys, so an unknown outcome is not repeated."""

    name = "confirmation.send"
    effect = Effect.UNSAFE

    def run(self, call: Call) -> dict[str, Any]:
        order = call.payload
        subject = gettext("Your order %(number)s") % {"number": order["number"]}
        body = render_to_string("orders/confirmation_mail.txt", {"order": order})
        try:
            send_mail(subject, body, from_email=None, recipient_list=[order["customer"]["email"]])
        except (ConnectionRefusedError, socket.gaierror, smtplib.SMTPConnectError) as error:
            # Only what fails before the mail has left; anything later may have sent it.
            server = f"{settings.EMAIL_HOST}:{settings.EMAIL_PORT}"
            raise Unavailable("mail_server_unreachable", f"{server}: {error}") from error
        except smtplib.SMTPRecipientsRefused as error:
            raise Permanent("recipient_refused", "the mail server refused the address") from error
        return {"mailed": True}
