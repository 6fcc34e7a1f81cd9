"""Script the outcomes of an agent's next calls: faults, deaths, silence, results."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest import mock

from workers.agent import call_pool
from workers.definitions import registry
from workers.definitions.agent import Call, Deferred
from workers.exceptions import DeadlinePassed

Result = dict[str, Any] | Deferred | None
Run = Callable[[Call], Result]


class WorkerDied(BaseException):
    """The process that made the call is gone, with everything it had not handed over.

    Not an ``Exception``: no code of a worker runs after its death, so none may catch it.
    """


@dataclass(frozen=True, slots=True)
class Act:
    """One way for a call to end, given the call and the real agent's ``run``."""

    name: str
    does: Callable[[Call, Run], Result]
    #: Whether every later call does the same.
    is_for_good: bool = False


#: An exception is raised; a dict or a deferral is the answer; a callable gets the call and
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
    #: Whether the call was a probe.
    is_probe: bool = False


def _die(call: Call, run: Run) -> Result:
    raise WorkerDied


def _run_and_die(call: Call, run: Run) -> Result:
    run(call)
    raise WorkerDied


def _be_late(call: Call, run: Run) -> Result:
    run(call)
    raise DeadlinePassed("the time of this claim is over")


#: Call the real agent.
runs = Act("runs", lambda call, run: run(call))
#: The worker dies before the call reaches the service, and the other calls of its process are lost.
dies = Act("dies", _die)
#: Call the real agent, and let the worker die before it replies.
runs_then_dies = Act("runs_then_dies", _run_and_die)
#: Call the real agent, which ends after the deadline: no reply.
is_late = Act("is_late", _be_late)
#: The answer to a probe: no earlier call had its effect.
never_happened = Act("never_happened", lambda call, run: None)


def always(item: Item) -> Act:
    """Do the same at every later call."""
    act = _act(item)
    return Act(f"always {act.name}", act.does, is_for_good=True)


@contextmanager
def scripted(
    scripts: Mapping[str, Sequence[Item]],
    *,
    otherwise: Item = runs,
    probes: Mapping[str, Sequence[Item]] | None = None,
) -> Iterator[list[Called]]:
    """Script the next calls of some agents; yield the calls of all agents, in order.

    ``scripts`` has a list per agent, with an item per call.  ``otherwise`` is for calls without
    an item: of agents that are not named, and of agents whose list is used up.  By default it
    calls the real agent.  ``probes`` does the same for the probes of queryable agents after a
    call in doubt; a probe without an item asks the real agent, or finds that nothing happened
    if ``otherwise`` is something else.

    Raises ``UnknownAgent`` for a name that no agent has.
    """
    calls: list[Called] = []
    run = _queues(scripts)
    probe = _queues(probes or {})
    default = _act(otherwise)
    default_probe = runs if default is runs else never_happened
    scripted_agents = {}
    for agent in registry.agents():
        name = agent.name
        scripted_agents[name] = double = copy(agent)
        double.run = _player(name, agent.run, run[name], default, calls)  # type: ignore[method-assign,assignment]
        double.probe = _player(name, agent.probe, probe[name], default_probe, calls, is_probe=True)  # type: ignore[method-assign,assignment]
    before = dict(registry._agents)
    registry._agents.update(scripted_agents)
    try:
        with mock.patch.object(call_pool, "threads", OneByOne()):
            yield calls
    finally:
        registry._agents.update(before)


def _queues(scripts: Mapping[str, Sequence[Item]]) -> defaultdict[str, deque[Act]]:
    queues: defaultdict[str, deque[Act]] = defaultdict(deque)
    for name, items in scripts.items():
        queues[registry.agent(name).name].extend(map(_act, items))
    return queues


def _act(item: Item) -> Act:
    if isinstance(item, Act):
        return item
    if isinstance(item, Exception):
        fault = item

        def throw(call: Call, run: Run) -> Result:
            # Otherwise every raise would add its frames to the traceback.
            raise fault.with_traceback(None)

        return Act(f"raises {fault!r}", throw)
    if isinstance(item, dict):
        result = item
        return Act(f"answers {result}", lambda call, run: dict(result))
    if isinstance(item, Deferred):
        deferral = item
        return Act(f"defers {deferral}", lambda call, run: deferral)
    if callable(item) and not isinstance(item, type):
        function = item
        return Act(f"calls {function!r}", lambda call, run: function(call))
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


class OneByOne:
    """Replaces the runtime's threads: ``submit`` returns once the call has ended.

    Calls that a call submits wait for its end, so that the order of calls is kept.
    """

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], Any]] = deque()
        self._is_busy = False

    def __call__(self, *, local: bool = False) -> "OneByOne":
        return OneByOne()

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
