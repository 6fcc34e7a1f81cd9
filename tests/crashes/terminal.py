"""The shop's commands in a terminal: each is journalled with what it does, or does nothing."""

from io import StringIO

from django.core.management import CommandError, call_command

from orders import tokens
from orders.models import ApiClient, ApiToken
from orders.numbers import next_order_number
from tests.crashes.doors import acme, page
from tests.crashes.scenario import Scenario, nothing
from workers.models import Journal
from workers.testing import Aftermath, Wire


def _run(command: str, *words: str) -> None:
    call_command(command, *words, stdout=StringIO())


def _run_once(event: str, command: str, *words: str) -> None:
    """Run what is refused the second time: only if the first was journalled as well."""
    try:
        _run(command, *words)
    except CommandError:
        assert _acts(event) == 1


def _acts(event: str) -> int:
    return Journal.objects.filter(event=event, actor__startswith="operator:").count()


def _times(after: Aftermath, block: str) -> int:
    """Return how often it was done: twice where it was, and nobody saw the token."""
    return 2 if after.crash is not None and after.crash.point == f"{block}:after" else 1


def _issue() -> None:
    _run("client", "issue", "acme")


def _issued(after: Aftermath) -> None:
    times = _times(after, "client.issue")
    assert ApiToken.objects.filter(revoked_at=None).count() == 1 + times
    assert _acts("client_issue") == times


def _rotate() -> None:
    _run("client", "rotate", "acme")


def _rotated(after: Aftermath) -> None:
    times = _times(after, "client.rotate")
    assert ApiToken.objects.filter(expires_at=None).count() == 1
    assert ApiToken.objects.exclude(expires_at=None).count() == times
    assert _acts("client_rotate") == times


def _revoke() -> None:
    _run_once("client_revoke", "client", "revoke", "acme")


def _revoked(after: Aftermath) -> None:
    assert tokens.verify(page["token"]) is None
    assert ApiToken.objects.exclude(revoked_at=None).count() == 1
    assert _acts("client_revoke") == 1


def _with_secret(wire: Wire) -> None:
    page["secret"] = acme(wire).webhook_secret


def _rotate_secret() -> None:
    _run_once("client_rotate_secret", "client", "webhook-secret", "acme", "--rotate")


def _secret_rotated(after: Aftermath) -> None:
    client = ApiClient.objects.get()
    assert client.old_webhook_secret == page["secret"] != client.webhook_secret
    assert _acts("client_rotate_secret") == 1


def _move_numbers() -> None:
    _run_once("order_numbers_moved", "order_numbers", "--next", "1000")


def _moved(after: Aftermath) -> None:
    # Moved up without its row, it could not be moved again to have one.
    assert next_order_number() == 1000
    assert _acts("order_numbers_moved") == 1


SCENARIOS = [
    Scenario("issue in a terminal", _issue, _issued, prepare=acme, run=nothing),
    Scenario("rotate in a terminal", _rotate, _rotated, prepare=acme, run=nothing),
    Scenario("revoke in a terminal", _revoke, _revoked, prepare=acme, run=nothing),
    Scenario(
        "rotate a secret in a terminal",
        _rotate_secret,
        _secret_rotated,
        prepare=_with_secret,
        run=nothing,
    ),
    Scenario("move order numbers", _move_numbers, _moved, run=nothing),
]
