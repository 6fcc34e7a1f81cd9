"""What an agent's next calls come to, said beforehand: faults, deaths, silence, results."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

from workers.agent import call_pool
from workers.definitions import registry
from workers.definitions.agent import Call, Deferred
from workers.exceptions import DeadlinePassed

Result = dict[str, Any] | Deferred | None
Run = Callable[[Call], Result]


class WorkerDied(BaseException):
    """The process that ran a bundle is gone, and with it everything it had not sent.

    No ``Exception``: nothing in a worker outlives its death, so nothing may catch it.
    """


@dataclass(frozen=True, slots=True)
class Act:
    """One way for a call to end, given the call and the real agent's ``run``."""

    name: str
    does: Callable[[Call, Run], Result]
    #: Whether it is also what every later call does.
    is_for_good: bool = False


#: An exception is raised, a dict or a deferral is the answer, a callable gets the call and
#: returns the answer.
Item = Act | Exception | dict[str, Any] | Deferred | Run


@dataclass(frozen=True, slots=True)
class Called:
    """One call as its agent saw it."""

    agent: str
    step: str
    key: str
    attempt: int
    payload: dict[str, Any]
    #: Whether the service was asked what became of an earlier call.
    is_probe: bool = False


def _die(call: Call, run: Run) -> Result:
    raise WorkerDied


def _run_and_die(call: Call, run: Run) -> Result:
    run(call)
    raise WorkerDied


def _be_late(call: Call, run: Run) -> Result:
    run(call)
    raise DeadlinePassed("the time of this claim is over")


#: The real agent is called.
runs = Act("runs", lambda call, run: run(call))
#: The worker dies before the service has heard of the call, and the rest of its bundle with it.
dies = Act("dies", _die)
#: The real agent is called, and the worker dies before it has told anybody.
runs_then_dies = Act("runs_then_dies", _run_and_die)
#: The real agent is called, and is done after the deadline: nothing is said.
is_late = Act("is_late", _be_late)
#: The answer to a probe: no earlier call had its effect.
never_happened = Act("never_happened", lambda call, run: None)


def always(item: Item) -> Act:
    """Do the same at every call from here on."""
    act = _act(item)
    return Act(f"always {act.name}", act.does, is_for_good=True)


@contextmanager
def scripted(
    scripts: Mapping[str, Sequence[Item]],
    *,
    otherwise: Item = runs,
    probes: Mapping[str, Sequence[Item]] | None = None,
) -> Iterator[list[Called]]:
    """Say what the next calls of some agents do; yield the calls of all agents, in order.

    ``scripts`` has a list per agent, an item per call.  ``otherwise`` is what is done by a
    call that no list says anything about: of an agent that is not named, and of one whose
    list is over.  By default that is the real agent.  ``probes`` is the same for what
    queryable agents are asked after a call in doubt; a probe no list says anything about asks
    the real agent, or finds that nothing happened where ``otherwise`` is something else.

    Calls of one bundle are made one after another here, in the test's own thread, so that a
    script means the same every time.  Raises ``UnknownAgent`` for a name that no agent has.
    """
    calls: list[Called] = []
    run = _queues(scripts)
    probe = _queues(probes or {})
    rest = _act(otherwise)
    unasked = runs if rest is runs else never_happened
    played = {}
    for agent in registry.agents():
        name = agent.name
        played[name] = one = copy(agent)
        one.run = _player(name, agent.run, run[name], rest, calls)  # type: ignore[method-assign,assignment]
        one.probe = _player(name, agent.probe, probe[name], unasked, calls, is_probe=True)  # type: ignore[method-assign,assignment]
    before = dict(registry._agents), call_pool.threads
    registry._agents.update(played)
    call_pool.threads = _OneByOne()  # type: ignore[assignment]
    try:
        yield calls
    finally:
        agents, call_pool.threads = before
        registry._agents.update(agents)


def _queues(scripts: Mapping[str, Sequence[Item]]) -> defaultdict[str, deque[Act]]:
    found: defaultdict[str, deque[Act]] = defaultdict(deque)
    for name, items in scripts.items():
        found[registry.agent(name).name].extend(map(_act, items))
    return found


def _act(item: Item) -> Act:
    if isinstance(item, Act):
        return item
    if isinstance(item, Exception):
        fault = item

        def throw(call: Call, run: Run) -> Result:
            # Raised again and again, it would carry the frames of every time before.
            raise fault.with_traceback(None)

        return Act(f"raises {fault!r}", throw)
    if isinstance(item, dict):
        result = item
        return Act(f"answers {result}", lambda call, run: dict(result))
    if isinstance(item, Deferred):
        deferral = item
        return Act(f"defers {deferral}", lambda call, run: deferral)
    if callable(item) and not isinstance(item, type):
        own = item
        return Act(f"calls {own!r}", lambda call, run: own(call))
    raise TypeError(f"{item!r} is nothing that a call can do.")


def _player(
    name: str,
    run: Run,
    script: deque[Act],
    otherwise: Act,
    calls: list[Called],
    *,
    is_probe: bool = False,
) -> Run:
    def play(call: Call) -> Result:
        calls.append(Called(name, call.step, call.key, call.attempt, call.payload, is_probe))
        act = script[0] if script else otherwise
        if script and not act.is_for_good:
            script.popleft()
        return act.does(call, run)

    return play


class _OneByOne:
    """Stands in for the runtime's threads: a call is over when it has been submitted.

    What a call submits itself waits for its end, so that calls come in their order.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], Any]] = deque()
        self._is_busy = False

    def __call__(self, *, local: bool = False) -> "_OneByOne":
        return _OneByOne()

    def drop(self) -> None:
        pass

    def submit(self, function: Callable[..., Any], *args: Any) -> None:
        self._waiting.append(partial(function, *args))
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            self._is_busy = False
