"""The fault switches of a service: one set, replaced as a whole."""

from dataclasses import dataclass
from typing import Any, Self

LARGEST_LATENCY_SECONDS = 300
LIES = (503, 429, 303, 400)


class InvalidFaults(Exception):
    """An invalid fault set: the field, what is wrong with it, and what to send."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field} {problem}. {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class FaultSet:
    """The faults of a service.  Rates are shares of calls between 0 and 1."""

    #: Answers ``error_status`` (default 503), no effect.
    error_rate: float = 0.0
    error_status: int | None = None
    #: Delays every call.
    latency_seconds: float = 0.0
    #: Never answered, no effect.
    hang_rate: float = 0.0
    #: The same for every order whose number it divides.
    hang_every: int | None = None
    #: The effect happens, then the connection is closed without an answer.
    drop_after_effect_rate: float = 0.0
    #: The effect happens, then the answer is 200 with an unreadable body.
    garbage_rate: float = 0.0
    #: The effect happens, then the answer is one of ``lie_statuses`` (default ``LIES``).
    lie_rate: float = 0.0
    lie_statuses: list[int] | None = None
    #: The service processes the call twice.
    duplicate_rate: float = 0.0
    #: Answers ``error_status`` (default 500) for every order whose number it divides, no effect.
    fail_every: int | None = None
    #: Answers 503 to every call.
    down: bool = False
    #: Makes the rates strike the same calls in every run.
    seed: int | None = None

    @classmethod
    def read(cls, body: dict[str, Any]) -> Self:
        """Parse a submitted set.  Raises ``InvalidFaults`` for the first invalid field."""
        for field, value in body.items():
            if field not in cls.__dataclass_fields__:
                remedy = f"Send only {', '.join(cls.__dataclass_fields__)}."
                raise InvalidFaults(field, "is no fault switch", remedy)
            if not _is_good(field, value):
                problem = f"cannot be {value!r}"[:100]
                raise InvalidFaults(field, problem, f"Send {_expected(field)}, or leave it out.")
        return cls(**body)

    def lie(self, draw: float) -> int:
        """Return the status for a call whose random number is below ``lie_rate``."""
        statuses = self.lie_statuses or LIES
        return statuses[int(draw / self.lie_rate * len(statuses))]


#: Fields that say how a fault shows, not whether it strikes.
MANNERS = ("error_status", "lie_statuses", "seed")
#: The switches that can strike a call, which the ledger counts.
SWITCHES = tuple(field for field in FaultSet.__dataclass_fields__ if field not in MANNERS)


def _is_good(field: str, value: object) -> bool:
    if field == "down":
        return isinstance(value, bool)
    if field == "lie_statuses":
        return isinstance(value, list) and bool(value) and all(map(_is_lie, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if field == "latency_seconds":
        return 0 <= value <= LARGEST_LATENCY_SECONDS
    if field.endswith("_rate"):
        return 0 <= value <= 1
    if not isinstance(value, int):
        return False
    if field == "error_status":
        return 400 <= value <= 599
    return field == "seed" or value >= 1


def _is_lie(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599


def _expected(field: str) -> str:
    if field == "down":
        return "true or false"
    if field == "latency_seconds":
        return f"a number of seconds from 0 to {LARGEST_LATENCY_SECONDS}"
    if field.endswith("_rate"):
        return "a number from 0 to 1"
    if field == "error_status":
        return "a whole number from 400 to 599"
    if field == "lie_statuses":
        return "a list of whole numbers from 300 to 599"
    return "a whole number" if field == "seed" else "a whole number from 1"
