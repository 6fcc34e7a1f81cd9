"""Providers that sign as a test has set it, and answer as the test's script says."""

from collections.abc import Callable

from workers.definitions.registry import register_provider
from workers.definitions.webhook_provider import Answer, Event, Provider
from workers.protocol.webhook_verification import stripe

#: What is answered; a test puts a callable here and its fixture empties it.
script: dict[str, Callable[[Event], Answer | None]] = {}
#: Provider -> its secrets; the same.
secrets: dict[str, list[str]] = {}


def _answers(event: Event) -> Answer | None:
    return script["answers"](event) if "answers" in script else None


PAY = register_provider(
    Provider("toy-pay", secrets=lambda: secrets.get("toy-pay", []), answers=_answers, per_minute=20)
)
BANK = register_provider(
    Provider(
        "toy-bank", secrets=lambda: secrets.get("toy-bank", []), answers=_answers, scheme=stripe
    )
)
