"""The Agent: wraps one remote service, obeys complete-by, classifies faults.

An agent is called with the data of a request and returns a result or raises a fault.  It
imports no models and keeps no state between calls; calls run concurrently in threads.  A
*local* agent is the exception: it works on the application's own tables, and its writes
commit together with its reply, or not at all.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

from django.utils.functional import Promise

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.definitions.per_key import PerKey
from workers.exceptions import DeadlinePassed, Fault
from workers.protocol import callback_tokens

DEFAULT_QUEUE = "sas.agents"
Text = str | Promise
_PERMISSION = re.compile(r"[^.\s]+\.\S+")


def margin_seconds(timeout_seconds: float) -> float:
    """Return how long before complete-by a call must end, so that its reply arrives in time."""
    return min(2.0, timeout_seconds * 0.1)


class Deadline:
    """When an agent's call must end, on this process's monotonic clock.

    A margin before complete-by, 2 s and at most 10 % of the timeout, leaves time for the reply
    to arrive.
    """

    def __init__(self, timeout_seconds: float, began: float | None = None) -> None:
        complete_by = (monotonic() if began is None else began) + timeout_seconds
        self._end = complete_by - margin_seconds(timeout_seconds)

    def remaining(self) -> float:
        """Return the seconds left; at zero or less stop, without a reply."""
        return self._end - monotonic()

    def check(self) -> None:
        """Raise ``DeadlinePassed`` when no time is left."""
        if self.remaining() <= 0:
            raise DeadlinePassed("the time of this claim is over")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent.

    ``key`` is the same at every attempt of the step: give it to the service as its
    idempotency key.  ``process`` is the id of the call's process, for verbs and for what answers
    it later.
    """

    subject: str
    step: str
    key: str
    attempt: int
    payload: dict[str, Any]
    deadline: Deadline
    process: int = 0

    @property
    def callback_token(self) -> str:
        """Return the token that the remote service sends with a later answer.

        Known before the call, the same at every attempt, and valid for one answer.
        """
        return callback_tokens.make(self.key)


@dataclass(frozen=True, slots=True)
class Deferred:
    """What ``run`` returns when the answer comes later, by callback.

    Meanwhile the step holds no worker and no window, only a place in the agent's
    ``deferred_window`` if it has one.  Without an answer in time the attempt counts as failed.
    """

    within_seconds: float
    #: The question, in words for people.
    question: str = ""
    #: The permission ("app.codename") a person needs to answer in the admin.
    permission: str = ""
    #: When an alert says that the answer is overdue.
    escalate_after_seconds: float | None = None
    #: Without an answer in time the step fails for good, instead of asking again.
    is_asked_once: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.within_seconds, int | float) or not self.within_seconds > 0:
            raise ValueError(
                "A deferral needs time: within_seconds must be a number above 0, got "
                f"{self.within_seconds!r}."
            )
        if self.permission and not _PERMISSION.fullmatch(self.permission):
            raise ValueError(
                f'permission must be "app.codename", got {self.permission!r}. Name its app.'
            )

    def to_wire(self) -> dict[str, Any]:
        return {
            "seconds": float(self.within_seconds),
            "question": self.question,
            "permission": self.permission,
            "escalate_seconds": self.escalate_after_seconds,
            "is_asked_once": self.is_asked_once,
        }


class Agent:
    """Base class.  Subclass it, give it a ``name`` and ``run``, and register it."""

    name: ClassVar[str]
    effect: ClassVar[Effect] = Effect.IDEMPOTENT
    is_local: ClassVar[bool] = False
    #: One call at a time, in the process's main thread, with no other call beside it.
    is_serial: ClassVar[bool] = False
    queue: ClassVar[str] = DEFAULT_QUEUE
    #: Claims in flight; None means ``SAS_WINDOW``.
    window: ClassVar[int | None] = None
    #: Calls a second, over all workers; None means no limit.  A flow row overrides it.
    rate: ClassVar[float | None] = None
    #: Deferred calls that wait for their answer, over all workers; None means no limit.  A flow
    #: row overrides it.
    deferred_window: ClassVar[int | None] = None
    #: Its calls for each value of an attribute of the process; None means no such limit.
    per_key: ClassVar[PerKey | None] = None
    #: Concurrent calls in one process; None means ``SAS_BUNDLE_LIMIT``, and more in turn if calls
    #: are quick (``SAS_BUNDLE_DEPTH``).
    bundle_limit: ClassVar[int | None] = None
    #: How long the service remembers a key; None means for good.
    key_retention_seconds: ClassVar[int | None] = None
    #: The two buttons for a person's answer, such as ("It is here", "It will not come"); None
    #: means Approve and Decline.
    answer_labels: ClassVar[tuple[Text, Text] | None] = None
    #: HTTP statuses that only the service itself answers, and only if it did nothing: never a
    #: fault of our credentials or address.
    proof: ClassVar[frozenset[int]] = frozenset()

    @property
    def side_by_side(self) -> int:
        """Return how many calls of this agent one process may hold at the same time."""
        return 1 if self.is_serial else self.bundle_limit or int(sas.bundle_limit)

    @property
    def calls_at_once(self) -> int:
        """Return how many calls of this agent run at once in one process: one, if it is local."""
        return 1 if self.is_local else self.side_by_side

    def vouches(self, fault: Fault) -> bool:
        """Say whether a fault of this agent proves that nothing happened.

        A local agent's writes are rolled back, whatever it raises.
        """
        return fault.no_effect or self.is_local or fault.status in self.proof

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        """Do the work of one call; return its result, or ``Deferred``.

        Raises ``Unavailable``, ``Transient`` or ``Permanent`` when there is no result, and
        ``DeadlinePassed`` when the time is over first.  Any other exception counts as
        transient.
        """
        raise NotImplementedError

    def probe(self, call: Call) -> dict[str, Any] | Deferred | None:
        """Ask the service what became of an earlier call with this key.

        Called for *queryable* agents after a call of unknown outcome, before any further one.
        Returns that call's result, or None as proof that it never happened; then ``run``
        follows.  Raises a fault while the outcome cannot be told.
        """
        raise NotImplementedError


class LocalAgent(Agent):
    """An agent that works on the application's own tables.

    ``run`` is called inside a transaction that also stores the reply, and only if the claim
    still holds and its deadline has not passed at that moment; otherwise the transaction is
    rolled back.  It must not call anything remote.
    """

    is_local = True


class TaskAgent(Agent):
    """An agent that calls an existing Celery task as a plain function.

    The task gets the payload as keyword arguments, and the idempotency key under
    ``key_argument`` if that is set.  Any exception counts as transient.  Created by
    ``registry.register_task``.
    """

    is_serial = True
    effect = Effect.UNSAFE
    task: ClassVar[Callable[..., Any]]
    key_argument: ClassVar[str | None] = None

    def run(self, call: Call) -> dict[str, Any] | None:
        arguments = dict(call.payload)
        if self.key_argument:
            arguments[self.key_argument] = call.key
        result = type(self).task(**arguments)
        return result if result is None or isinstance(result, dict) else {"returned": result}
