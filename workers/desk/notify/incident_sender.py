"""Sends a message to a route: by mail, or by one POST within a total deadline."""

from collections.abc import Callable
from dataclasses import dataclass
from smtplib import SMTPException, SMTPResponseException

from django.core.mail import EmailMessage, get_connection

from workers.conf import sas
from workers.desk.models.route import RouteKind
from workers.notify.senders import http_post
from workers.notify.senders.delivery import Answer, Undelivered
from workers.notify.senders.webhook import signed
from workers.runtime.visible_text import visible

AGENT = {"User-Agent": "incidents/1"}


@dataclass(frozen=True, slots=True)
class EncodedMessage:
    """One message to one route, in the format of the route's kind."""

    kind: str
    address: str
    secret: str
    #: The same at every try, so that receivers recognize repetitions.
    id: str
    subject: str
    text: str
    #: The JSON; empty for mail.
    body: bytes = b""


Send = Callable[[EncodedMessage], Answer | None]


def mail(message: EncodedMessage) -> None:
    """Hand a mail to the project's mail server, with a time limit for each answer of the server."""
    email = EmailMessage(
        message.subject,
        message.text,
        to=[part.strip() for part in message.address.split(",") if part.strip()],
        headers={"Auto-Submitted": "auto-generated", "X-Incident-Message": message.id},
    )
    try:
        with get_connection(timeout=sas.webhook_seconds) as connection:
            connection.send_messages([email])
    except SMTPResponseException as problem:
        raw = problem.smtp_error
        text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
        raise Undelivered(
            "mail_answered",
            status=problem.smtp_code,
            answer=Answer(problem.smtp_code, visible(text)[: http_post.KEPT_CHARACTERS]),
        ) from problem
    except (SMTPException, OSError) as problem:
        raise Undelivered("mail_failed", error=type(problem).__name__) from problem


def webhook(message: EncodedMessage) -> Answer:
    """Post a signed message."""
    headers = signed((message.secret,), message.id, message.body)
    return http_post.post(message.address, message.body, {**AGENT, **headers})


def chat(message: EncodedMessage) -> Answer:
    """Post a message to an address that is itself the secret, or holds it in its body."""
    return http_post.post(message.address, message.body, AGENT)


#: Senders by kind of route; ``workers.testing`` puts its own wire here.
senders: dict[str, Send] = {
    RouteKind.MAIL: mail,
    RouteKind.WEBHOOK: webhook,
    RouteKind.SLACK: chat,
    RouteKind.TEAMS: chat,
    RouteKind.PAGERDUTY: chat,
}


def send(message: EncodedMessage) -> Answer | None:
    """Send a message within its time limit; return the answer.  Raises ``Undelivered``."""
    return senders[message.kind](message)
