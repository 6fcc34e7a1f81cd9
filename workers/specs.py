"""What a step has from its declaration, as a value: equal ones are one row, which steps share."""

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class SpecRow:
    """Everything that a step needs to run and shares with others.

    Never changed: a step that gets another time, agent or undo gets another spec
    (``dataclasses.replace``).
    """

    after: tuple[str, ...] = ()
    fallbacks: tuple[Json, ...] = ()
    #: The step that undoes this one, if it can be undone: {"name", "agent", ...}.
    undo: Json | None = None
    is_optional: bool = False
    #: Policy after it has failed for good: error, compensate, wait or ask.
    on_failure: str = "error"
    wait_seconds: int = 0
    #: Time between its predecessors' end and its own beginning.
    delay_seconds: int = 0
    #: Once it is ready, the definition decides whether it is done, and from when on.
    is_judged: bool = False
    #: The step that makes this one needless once it is processed; "": none does.
    unless: str = ""
    #: The children that it is a list of: {"workflow", "at_once", "tolerate"}.
    children: Json | None = None
    #: Decides what may be done when it is unknown whether a call had its effect.
    effect: str = "idempotent"
    #: How long the service remembers the key; None: for good.
    key_retention_seconds: int | None = None
    #: Time for all attempts together; None: as many as the threshold allows.
    total_seconds: int | None = None
    timeout_seconds: int = 30
    backoff_base_seconds: float = 2.0
    backoff_cap_seconds: float = 300.0

    @cached_property
    def values(self) -> Json:
        """The values by name: one dict, which nobody changes."""
        return asdict(self)

    @cached_property
    def digest(self) -> int:
        """The number by which steps name this spec: 64 bits of a hash of its values."""
        text = json.dumps(self.values, sort_keys=True)
        return int.from_bytes(sha256(text.encode()).digest()[:8], "big", signed=True)
