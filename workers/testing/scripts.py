"""What an agent's next calls come to, said beforehand: faults, deaths, silence, results."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from workers import registry, runtime
from workers.agent import Call
from workers.exceptions import DeadlinePassed

Result = dict[str, Any] | None
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


#: An exception is raised, a dict is the result, a callable gets the call and returns the result.
Item = Act | Exception | dict[str, Any] | Run


@dataclass(frozen=True, slots=True)
class Called:
    """One call as its agent saw it."""

    agent: str
    step: str
    key: str
    attempt: int
    payload: dict[str, Any]


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


def always(item: Item) -> Act:
    """Do the same at every call from here on."""
    act = _act(item)
    return Act(f"always {act.name}", act.does, is_for_good=True)


@contextmanager
def scripted(
    scripts: Mapping[str, Sequence[Item]], *, otherwise: Item = runs
) -> Iterator[list[Called]]:
    """Say what the next calls of some agents do; yield the calls of all agents, in order.

    ``scripts`` has a list per agent, an item per call.  ``otherwise`` is what is done by a
    call that no list says anything about: of an agent that is not named, and of one whose
    list is over.  By default that is the real agent.  Calls of one bundle are made one after
    another here, in the test's own thread, so that a script means the same every time.
    Raises ``UnknownAgent`` for a name that no agent has.
    """
    calls: list[Called] = []
    script = {registry.agent(name).name: deque(map(_act, items)) for name, items in scripts.items()}
    rest = _act(otherwise)
    played = {}
    for agent in registry.agents():
        played[agent.name] = copy(agent)
        play = _player(agent.name, agent.run, script.get(agent.name, deque()), rest, calls)
        played[agent.name].run = play  # type: ignore[method-assign,assignment]
    before = dict(registry._agents), runtime._threads
    registry._agents.update(played)
    runtime._threads = _OneByOne()  # type: ignore[assignment]
    try:
        yield calls
    finally:
        agents, runtime._threads = before
        registry._agents.update(agents)


def _act(item: Item) -> Act:
    if isinstance(item, Act):
        return item
    if isinstance(item, Exception):
        fault = item

        def throw(call: Call, run: Run) -> Result:
            raise fault

        return Act(f"raises {fault!r}", throw)
    if isinstance(item, dict):
        result = item
        return Act(f"answers {result}", lambda call, run: dict(result))
    if callable(item) and not isinstance(item, type):
        own = item
        return Act(f"calls {own!r}", lambda call, run: own(call))
    raise TypeError(f"{item!r} is nothing that a call can do.")


def _player(name: str, run: Run, script: deque[Act], otherwise: Act, calls: list[Called]) -> Run:
    def play(call: Call) -> Result:
        calls.append(Called(name, call.step, call.key, call.attempt, call.payload))
        act = script[0] if script else otherwise
        if script and not act.is_for_good:
            script.popleft()
        return act.does(call, run)

    return play


class _OneByOne:
    """Stands in for the runtime's threads: a call is over when it has been submitted."""

    def get(self, wanted: int) -> "_OneByOne":
        return self

    def drop(self) -> None:
        pass

    def submit(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args))
        return future
