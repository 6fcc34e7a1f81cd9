"""What an app declares of a service that sends it webhooks.

As an agent wraps the calls to a remote service, a provider wraps the service's own calls: how
they are known to be genuine, and which step each one answers.
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
    """One webhook whose signature was good."""

    #: The provider's own name for it, the same however often it is sent.
    id: str
    #: When it was sent this time, as the provider has signed it.
    sent_at: datetime
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Answer:
    """The step that an event answers, and with what: ``fault`` if there is one, else ``result``."""

    process_id: int
    step: str
    result: dict[str, Any] = field(default_factory=dict)
    fault: Fault | None = None
    #: The step's idempotency key, where the service knows it: no later call is answered then.
    key: str | None = None


@dataclass(frozen=True)
class Provider:
    """A service that sends webhooks; ``register_provider`` makes it known.

    ``secrets`` returns what they are signed with, one or, while it is changed, more; it is
    asked every time.  ``answers`` returns what an event answers, or None for one that nobody
    wants; it raises ``WebhookRefused`` for one that must not be taken, such as a sum that
    was not asked for.  It runs in the transaction that stores the answer: what it writes stays
    if, and only if, the event is taken.
    """

    #: As in its address: ``webhooks/<name>``.
    name: str
    secrets: Callable[[], Sequence[str]]
    answers: Callable[[Event], Answer | None]
    scheme: Scheme = standard_webhooks
    #: Webhooks taken in a minute; more are told to come again.
    per_minute: int = 600

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise WorkflowError(
                f"{self.name!r} is no name for a provider of webhooks. "
                "Use 1 to 40 small letters, digits and -."
            )
