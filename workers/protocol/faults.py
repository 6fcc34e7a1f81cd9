"""A fault: a value inside the engine, a JSON object on the wire and on its step's row."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from workers.exceptions import OF_OUR_SIDE, Fault, in_a_line
from workers.runtime import storable_text
from workers.runtime.timestamps import text_of

#: Kinds that an agent may answer; the engine adds ``expired``.
KINDS = frozenset({"unavailable", "transient", "permanent", "refused"})
#: The longest time that a service may ask not to be called.
MAX_RETRY_AFTER_SECONDS = 86_400.0


class FaultRecord(msgspec.Struct, frozen=True):
    """Why a step has no result.  Unset fields are not written.

    Newer code may write more fields, which older code ignores.
    """

    kind: str = ""
    code: str = ""
    message: str = ""
    #: Seconds for which the service asked not to be called.
    retry_after: float | UnsetType | None = UNSET
    #: Proof that nothing happened; only ever set to true.
    no_effect: bool | UnsetType = UNSET
    #: Calls that the agent made before it gave up.
    tries: int | UnsetType = UNSET
    #: The claim whose worker died, and how many died in a row.
    claim: str | UnsetType | None = UNSET
    deaths: int | UnsetType = UNSET
    #: How often the service refused us at this step, the first time included, while it took other
    #: calls of the agent: set only if our side is at fault.
    refusals: int | UnsetType = UNSET
    #: The permission that answering an overdue question needs.
    permission: str | UnsetType = UNSET
    #: When it was written to its step.
    at: str | UnsetType = UNSET

    @classmethod
    def of(cls, fault: Fault, *, is_proof: bool = False) -> "FaultRecord":
        """Return the record of an agent's fault, cut to size; ``is_proof``: nothing happened."""
        if not isinstance(fault, Fault):
            raise TypeError(
                f"fault must be Refused, Permanent or Transient, got {fault!r}. Raise one of them."
            )
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
        """Return the record of an unexpected error of an application's code before any call."""
        text = storable_text.storable(in_a_line(error))
        return cls(kind, code, text[:500], no_effect=True)

    @classmethod
    def from_json(cls, value: Any) -> "FaultRecord | None":
        """Return the fault of a row, if any; for a value of another format, its text."""
        if value is None:
            return None
        try:
            return msgspec.convert(value, cls)
        except (msgspec.ValidationError, UnicodeError):
            return cls(message=storable_text.storable(value)[:500])

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = msgspec.to_builtins(self)
        return body

    @property
    def is_of_our_side(self) -> bool:
        """Say whether our credentials or address are at fault, and not the step."""
        return self.kind == "unavailable" and self.code in OF_OUR_SIDE

    def noted(self, now: datetime) -> "FaultRecord":
        """Return it with its time, as stored on a step."""
        return msgspec.structs.replace(self, at=text_of(now))


def seconds(value: object) -> float | None:
    """Return a time to wait, cut to the bounds; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return None
    return float(min(value, MAX_RETRY_AFTER_SECONDS))
