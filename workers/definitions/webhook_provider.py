"""What an app declares about a service that sends it webhooks.

As an agent wraps the calls to a remote service, a provider wraps the calls from it: how their
signatures are checked, and which step each one answers.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from workers.exceptions import Fault, WorkflowError
from workers.protocol.webhook_verification import Scheme, standard_webhooks

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, slots=True)
class Event:
    """One webhook with a valid signature."""

    #: The provider's own id for it, the same however often it is sent.
    id: str
    #: When it was sent this time, as signed by the provider.
    sent_at: datetime
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The step that an event answers, with ``fault`` if there is one, else with ``result``."""

    process_id: int
    step: str
    result: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    #: The step's idempotency key, if the service knows it: then no later call is answered.
    key: str | None = None


@dataclass(frozen=True)
class Provider:
    """A service that sends webhooks, for ``register_provider``.

    ``secrets`` returns the signing secrets, one or, during a change, more; it is called for
    every webhook.  ``answers`` returns what an event answers, or None for one to ignore; it
    raises ``WebhookRefused`` for one that must not be taken, such as a sum that was not asked
    for.  It runs in the transaction that stores the answer: its writes stay if, and only if,
    the event is taken.
    """

    #: Its name in the URL: ``webhooks/<name>``.
    name: str
    secrets: Callable[[], Sequence[str]]
    answers: Callable[[Event], Answer | None]
    scheme: Scheme = standard_webhooks
    #: Webhooks taken in a minute; the sender of more is told to retry.
    per_minute: int = 600
    #: The largest body that is read.
    max_bytes: int = 1_048_576

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WorkflowError(
                f"{self.name!r} is no name for a provider of webhooks. "
                "Use 1 to 40 small letters, digits and -."
            )
