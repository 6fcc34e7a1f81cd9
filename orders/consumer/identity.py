"""The sender of a message: proven by a token, or by the broker if the settings trust it."""

from dataclasses import dataclass, field

from django.conf import settings

from orders import tokens
from orders.consumer.message import Message, storable
from orders.models import ApiClient
from orders.reasons import because
from orders.schemas import FieldProblem


@dataclass(frozen=True, slots=True)
class Sender:
    """The proven sender of a message, if any, and the reasons why it may not submit."""

    client: ApiClient | None
    reasons: list[FieldProblem] = field(default_factory=list)


def prove(message: Message) -> Sender:
    """Find the sender of a message; its own claims prove nothing.

    A token takes precedence over the broker's login; without either the client is unknown.
    """
    if message.unreadable:
        return Sender(None)
    if "token" in message.headers:
        return _by_token(message)
    if message.is_user_proven and settings.SUBMISSIONS_TRUST_USER_ID and message.text("user_id"):
        return _by_login(message)
    return Sender(
        None,
        [because("headers.token", "is missing; send a token made by `manage.py client add NAME`")],
    )


def _by_token(message: Message) -> Sender:
    token = message.header("token")
    # Our tokens are ASCII; AMQP texts may contain lone surrogates, which cannot be hashed.
    grant = tokens.verify(token) if token.isascii() else None
    if grant is None:
        return Sender(
            None,
            [because("headers.token", "is unknown, expired or revoked; send one that is good")],
        )
    reasons = _claim_problems(message, grant.client, "the token's")
    if message.header("client") == "" and not reasons:
        reasons = [because("headers.client", "is missing; send the client's name with the token")]
    if tokens.SUBMIT not in grant.scopes:
        reasons.append(
            because("headers.token", f"has no scope {tokens.SUBMIT!r}; ask for one that has")
        )
    return Sender(grant.client, reasons)


def _by_login(message: Message) -> Sender:
    name = storable(message.text("user_id"))
    client = ApiClient.objects.filter(name=name, is_active=True).first()
    if client is None:
        return Sender(
            None,
            [
                because(
                    "user_id",
                    f"{name!r} is no open client; add one of that name, or log in"
                    " to the broker as one",
                )
            ],
        )
    return Sender(client, _claim_problems(message, client, "the login's"))


def _claim_problems(message: Message, client: ApiClient, owner: str) -> list[FieldProblem]:
    """Return the problem of a message that names another client than the proven one."""
    if message.headers.get("client", client.name) == client.name:
        return []
    return [because("headers.client", f"is not {owner} client; send your own name")]
