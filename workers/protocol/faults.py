"""A fault: a value inside the engine, a JSON object on the wire and on its step's row."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from workers.exceptions import Fault, in_a_line
from workers.runtime import storable_text
from workers.runtime.timestamps import text_of

#: What an agent may answer; the engine's own are ``expired``, too.
KINDS = frozenset({"unavailable", "transient", "permanent", "refused"})
#: The longest time that a service may ask to be left alone.
MAX_RETRY_AFTER_SECONDS = 86_400.0


class FaultRecord(msgspec.Struct, frozen=True):
    """Why a step has no result.  What is unset is not written.

    Newer code may say more, which older code leaves unread.
    """

    kind: str = ""
    code: str = ""
    message: str = ""
    #: Seconds that the service asked to be left alone.
    retry_after: float | UnsetType | None = UNSET
    #: It is proof that nothing happened; never said otherwise.
    no_effect: bool | UnsetType = UNSET
    #: Calls that the agent made before it gave up.
    tries: int | UnsetType = UNSET
    #: The claim whose worker died, and how many died one after another.
    claim: str | UnsetType | None = UNSET
    deaths: int | UnsetType = UNSET
    #: The permission that answering an overdue question needs.
    permission: str | UnsetType = UNSET
    #: When it was noted on its step.
    at: str | UnsetType = UNSET

    @classmethod
    def of(cls, fault: Fault, *, is_proof: bool = False) -> "FaultRecord":
        """Return what an agent raised, within bounds; ``is_proof``: the agent vouches for it."""
        return cls(
            fault.kind,
            storable_text.storable(fault.code)[:60],
            storable_text.storable(fault.message)[:500],
            seconds(fault.retry_after),
            True if fault.no_effect or is_proof else UNSET,
            int(fault.tries),
        )

    @classmethod
    def of_error(cls, kind: str, code: str, error: Exception) -> "FaultRecord":
        """Return what code of an application raised, where it may not, before any call."""
        text = storable_text.storable(in_a_line(error))
        return cls(kind, code, text[:500], no_effect=True)

    @classmethod
    def from_json(cls, value: Any) -> "FaultRecord | None":
        """Return what a row has, if anything; of what no code of ours wrote, its text."""
        if value is None:
            return None
        try:
            return msgspec.convert(value, cls)
        except (msgspec.ValidationError, UnicodeError):
            return cls(message=storable_text.storable(value)[:500])

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = msgspec.to_builtins(self)
        return body

    def noted(self, now: datetime) -> "FaultRecord":
        """Return it as a step keeps it."""
        return msgspec.structs.replace(self, at=text_of(now))


def seconds(value: object) -> float | None:
    """Return a time to wait within bounds; None for what is no such time."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return None
    return float(min(value, MAX_RETRY_AFTER_SECONDS))
