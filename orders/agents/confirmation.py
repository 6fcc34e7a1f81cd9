"""The confirmation mail."""

import smtplib
import socket
from typing import Any

from django.core.mail import send_mail

from workers import Agent, Call, Effect, Permanent, Unavailable, register_agent


@register_agent
class SendConfirmation(Agent):
    """Mail the customer.  A mail server keeps no keys, so an unknown outcome is not repeated."""

    name = "confirmation.send"
    effect = Effect.UNSAFE

    def run(self, call: Call) -> dict[str, Any]:
        order = call.payload
        lines = "\n".join(f"  {line['quantity']} x {line['name']}" for line in order["lines"])
        try:
            send_mail(
                subject=f"Your order {order['number']}",
                message=(
                    f"Hello {order['customer']['name']},\n\nthank you. Your order "
                    f"{order['number']} is paid and on its way:\n\n{lines}\n\n"
                    f"Total: {order['total']}\n"
                ),
                from_email=None,
                recipient_list=[order["customer"]["email"]],
            )
        except (ConnectionRefusedError, socket.gaierror, smtplib.SMTPConnectError) as error:
            # Only what fails before the mail has left; anything later may have sent it.
            raise Unavailable("mail_server_unreachable", str(error)) from error
        except smtplib.SMTPRecipientsRefused as error:
            raise Permanent("recipient_refused", "the mail server refused the address") from error
        return {"mailed": True}
