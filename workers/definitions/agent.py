"""The Agent: wraps one remote service, obeys complete-by, classifies faults.

An agent is called with what the request carries and answers with a result, or raises a
fault.  It imports no models and keeps nothing between calls; several run side by side in
threads.  A *local* agent is the exception: it works on the application's own tables, and
its writes commit together with its reply, or not at all.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

from django.utils.functional import Promise

from workers.conf import sas
from workers.definitions.effects import Effect
from workers.exceptions import DeadlinePassed, Fault
from workers.protocol import callback_tokens

DEFAULT_QUEUE = "sas.agents"
Text = str | Promise


def margin_seconds(timeout_seconds: float) -> float:
    """Return how long before complete-by a call must end, so that it is also told of in time."""
    return min(2.0, timeout_seconds * 0.1)


class Deadline:
    """The end of a claim's time for its agent, on this process's monotonic clock.

    It lies a margin before complete-by, so that a call which ends in time is also told of
    in time: 2 s, at most 10 % of the timeout.
    """

    def __init__(self, timeout_seconds: float, began: float | None = None) -> None:
        self._complete_by = (monotonic() if began is None else began) + timeout_seconds
        self._end = self._complete_by - margin_seconds(timeout_seconds)

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

    @property
    def callback_token(self) -> str:
        """Return what the remote service is to show when it answers later.

        Known before the call, the same at every attempt, and good for one answer.
        """
        return callback_tokens.make(self.key)


@dataclass(frozen=True, slots=True)
class Deferred:
    """What ``run`` returns when somebody else answers later, by callback.

    No worker and no window is held meanwhile, but a place in the agent's ``deferred_window``,
    where it has one.  Without an answer within that time the
    attempt counts as failed.
    """

    within_seconds: float
    #: What is asked, in words for people.
    question: str = ""
    #: The permission ("app.codename") a person needs to answer in the admin.
    permission: str = ""
    #: When an alert says that the answer is overdue.
    escalate_after_seconds: float | None = None
    #: Without an answer in time the step has failed for good: nobody is asked again.
    is_asked_once: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.within_seconds, int | float) or not self.within_seconds > 0:
            raise ValueError(
                "A deferral needs time: within_seconds must be a number above 0, got "
                f"{self.within_seconds!r}."
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
    #: One call at a time, in the process's main thread.
    is_serial: ClassVar[bool] = False
    queue: ClassVar[str] = DEFAULT_QUEUE
    #: Claims in flight; None means ``SAS_WINDOW``.
    window: ClassVar[int | None] = None
    #: Calls a second, over all workers; None means no limit.  A flow row overrides it.
    rate: ClassVar[float | None] = None
    #: Answers outstanding, of calls that were deferred, over all workers; None means no limit.  A
    #: flow row overrides it.
    deferred_window: ClassVar[int | None] = None
    #: Calls side by side in one process, and the most claims in one message; None means
    #: ``SAS_BUNDLE_LIMIT``, and more in turn where calls are quick (``SAS_BUNDLE_DEPTH``).
    bundle_limit: ClassVar[int | None] = None
    #: How long the service remembers a key; None means for good.
    key_retention_seconds: ClassVar[int | None] = None
    #: What a person who answers for it presses, such as ("It is here", "It will not come"); None
    #: means Approve and Decline.
    answer_labels: ClassVar[tuple[Text, Text] | None] = None
    #: Statuses that only the service itself answers, and only where it did nothing.
    proof: ClassVar[frozenset[int]] = frozenset()

    @property
    def side_by_side(self) -> int:
        """Return how many calls of it one process may hold at the same time."""
        return 1 if self.is_serial else self.bundle_limit or int(sas.bundle_limit)

    @property
    def calls_at_once(self) -> int:
        """Return how many calls of it run at the same time in one process: one, if it is local."""
        return 1 if self.is_local else self.side_by_side

    @property
    def takes_itself(self) -> bool:
        """Say whether a process that calls it may claim for it: not where calls run alone."""
        return not (self.is_serial or self.is_local)

    def vouches(self, fault: Fault) -> bool:
        """Say whether a fault of this agent is proof that nothing happened.

        What a local agent wrote was rolled back, whatever it raised.
        """
        return fault.no_effect or self.is_local or fault.status in self.proof

    def run(self, call: Call) -> dict[str, Any] | Deferred | None:
        """Do the work of one call and return its result, or that it is deferred.

        Raises ``Unavailable``, ``Transient`` or ``Permanent`` when there is none, and
        ``DeadlinePassed`` when the time was over first.  Anything else it raises counts as
        transient.
        """
        raise NotImplementedError

    def probe(self, call: Call) -> dict[str, Any] | Deferred | None:
        """Ask the service what became of an earlier call with this key.

        Asked of *queryable* agents before any call after one of unknown outcome.  Returns
        that call's result, or None for proof that it never happened; then ``run`` follows.
        Raises a fault while nobody can tell.
        """
        raise NotImplementedError


class LocalAgent(Agent):
    """An agent of the application's own tables.

    ``run`` is called inside a transaction that also files the reply, and only if the claim
    still holds and its deadline has not passed at that moment; otherwise all of it is
    rolled back.  It must not call anything remote.
    """

    is_local = True


class TaskAgent(Agent):
    """An agent whose work is a Celery task that exists already, called as a plain function.

    It gets the payload as keyword arguments, and the idempotency key under ``key_argument``
    if that is named.  Whatever it raises counts as transient.  Made by
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
