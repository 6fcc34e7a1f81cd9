"""The Agent: wraps one remote service, obeys complete-by, classifies faults.

An agent is called with what the request carries and answers with a result, or raises a
fault.  It imports no models and keeps nothing between calls; several run side by side in
threads.  A *local* agent is the exception: it works on the application's own tables, and
its writes commit together with its reply, or not at all.
"""

from dataclasses import dataclass
from enum import StrEnum
from time import monotonic
from typing import Any, ClassVar

from workers.exceptions import DeadlinePassed

DEFAULT_QUEUE = "sas.agents"


class Effect(StrEnum):
    """What may be done when nobody knows whether a call had its effect."""

    #: Call again with the same key: the service remembers it.
    IDEMPOTENT = "idempotent"
    #: Nothing: an operator finds out (or an optional step is skipped).
    UNSAFE = "unsafe"


class Deadline:
    """The end of a claim's time for its agent, on this process's monotonic clock.

    It lies a margin before complete-by, so that a call which ends in time is also told of
    in time: 2 s, at most 10 % of the timeout.
    """

    def __init__(self, timeout_seconds: float, began: float | None = None) -> None:
        margin = min(2.0, timeout_seconds * 0.1)
        self._complete_by = (monotonic() if began is None else began) + timeout_seconds
        self._end = self._complete_by - margin

    def remaining(self) -> float:
        """Return the seconds left; zero or less: stop and say nothing."""
        return self._end - monotonic()

    def is_past_complete_by(self) -> bool:
        """Say whether the claim is void by now, by this process's clock."""
        return monotonic() >= self._complete_by

    def check(self) -> None:
        """Raise ``DeadlinePassed`` when no time is left."""
        if self.remaining() <= 0:
            raise DeadlinePassed("the time of this claim is over")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent.

    ``key`` is the same at every attempt of the step: give it to the service as its
    idempotency key.
    """

    subject: str
    step: str
    key: str
    attempt: int
    payload: dict[str, Any]
    deadline: Deadline


class Agent:
    """Base class.  Subclass it, give it a ``name`` and ``run``, and register it."""

    name: ClassVar[str]
    effect: ClassVar[Effect] = Effect.IDEMPOTENT
    is_local: ClassVar[bool] = False
    queue: ClassVar[str] = DEFAULT_QUEUE
    #: Claims in flight and claims in one message; None means the engine's setting.
    window: ClassVar[int | None] = None
    bundle_limit: ClassVar[int | None] = None

    def run(self, call: Call) -> dict[str, Any] | None:
        """Do the work of one call and return its result.

        Raises ``Unavailable``, ``Transient`` or ``Permanent`` when there is none, and
        ``DeadlinePassed`` when the time was over first.  Anything else it raises counts as
        transient.
        """
        raise NotImplementedError


class LocalAgent(Agent):
    """An agent of the application's own tables.

    ``run`` is called inside a transaction that also files the reply, and only if the claim
    still holds and its deadline has not passed at that moment; otherwise all of it is
    rolled back.  It must not call anything remote.
    """

    is_local = True
