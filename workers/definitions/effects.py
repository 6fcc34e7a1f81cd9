"""What a call changes outside, and so what may follow when its outcome is unknown."""

from datetime import datetime, timedelta
from enum import StrEnum


class Effect(StrEnum):
    """What follows a call of unknown outcome."""

    #: Call again with the same key: the service remembers it, within the key's retention.
    IDEMPOTENT = "idempotent"
    #: Ask the service first (``Agent.probe``); call again only if the call did not happen.
    QUERYABLE = "queryable"
    #: Do not call again: an operator finds out (or an optional step is skipped).
    UNSAFE = "unsafe"
    #: Call again: the call changes nothing outside.
    NONE = "none"


def is_beyond_finding_out(
    effect: str, retention_seconds: int | None, key_used_at: datetime | None, now: datetime
) -> bool:
    """Say whether only a person can still find out what a call in doubt did.

    Unsafe calls are never repeated; calls of a service that forgets keys are repeated only
    within its retention, counted from the first call with the key.
    """
    if effect == Effect.UNSAFE:
        return True
    if effect != Effect.IDEMPOTENT or retention_seconds is None or key_used_at is None:
        return False
    return now >= key_used_at + timedelta(seconds=retention_seconds)
