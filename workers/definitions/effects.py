"""What a call changes outside, and so what may be done when nobody knows whether it did."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol


class Effect(StrEnum):
    """How a call of unknown outcome is dealt with."""

    #: Call again with the same key: the service remembers it, within the key's retention.
    IDEMPOTENT = "idempotent"
    #: Ask first (``Agent.probe``), and call again only if it did not happen.
    QUERYABLE = "queryable"
    #: Nothing: an operator finds out (or an optional step is skipped).
    UNSAFE = "unsafe"
    #: Call again: nothing outside is changed by it.
    NONE = "none"


class _Called(Protocol):
    effect: str
    key_retention_seconds: int | None
    key_used_at: datetime | None
    is_in_doubt: bool


def is_doubtful(step: _Called, now: datetime) -> bool:
    """Say whether a step may have had its effect, and only a person can find out."""
    return step.is_in_doubt and is_beyond_finding_out(
        step.effect, step.key_retention_seconds, step.key_used_at, now
    )


def is_beyond_finding_out(
    effect: str, retention_seconds: int | None, key_used_at: datetime | None, now: datetime
) -> bool:
    """Say of a call in doubt whether only a person can still find out what it did.

    Unsafe calls are never repeated; of a service that remembers keys for a time, not once
    that time is over, counted from the first call with the key.
    """
    if effect == Effect.UNSAFE:
        return True
    if effect != Effect.IDEMPOTENT or retention_seconds is None or key_used_at is None:
        return False
    return now >= key_used_at + timedelta(seconds=retention_seconds)
