"""What a call changes outside, and so what may follow when its outcome is unknown."""

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
