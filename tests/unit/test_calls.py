"""Calls side by side: how many at a time, and which answers travel together."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from workers.agent import call_pool
from workers.agent.call_pool import Calls, Work
from workers.definitions.agent import Agent, Call, Deadline, LocalAgent
from workers.protocol.messages import Reply, Request


class Slow(Agent):
    name = "toy.slow"
    bundle_limit = 2


class Quick(Agent):
    name = "toy.quick"
    bundle_limit = 2


@pytest.fixture(autouse=True)
def unknown_paces() -> Iterator[None]:
    call_pool._paces().clear()
    yield
    call_pool._paces().clear()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as pool:
        yield pool


def work(agent: Agent, deadline: Deadline | None = None) -> Work:
    request = Request(1, uuid4(), 1, "toy", "Toy", "key", {})
    return Work(agent, request, deadline or Deadline(60))


def calls(pool: ThreadPoolExecutor, call: Callable[[Work], Reply | None]) -> Calls:
    return Calls(call, pool)


class Local(LocalAgent):
    name = "toy.local"

    def perform(self, call: Call) -> dict[str, Any]:
        return {}


class Counting:
    """A pool that counts the threads that it was asked for."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self.pool, self.threads = pool, 0

    def submit(self, *work: Any) -> Any:
        self.threads += 1
        return self.pool.submit(*work)


def test_no_more_go_side_by_side_than_the_agent_says(pool):
    begun, may_end = threading.Semaphore(0), threading.Event()
    counting: Any = Counting(pool)
    some = Calls(lambda one: begun.release() or (may_end.wait(5) and None), counting)  # type: ignore[func-returns-value]

    some.begin([work(Slow()) for _ in range(5)])

    # A thread asks for the next one before it makes its call.
    assert begun.acquire(timeout=5)
    assert begun.acquire(timeout=5)
    assert counting.threads == 2
    assert (some.room(Slow()), some.room(Quick())) == (0, 2)
    may_end.set()
    while some.left:
        some.take(5)
    assert some.room(Slow()) == 2


def test_quick_call_is_taken_without_waiting_for_other_agents_call(pool, monkeypatch):
    may_end, waited = threading.Event(), []
    some: Any = calls(pool, lambda one: None if isinstance(one.agent, Quick) else may_end.wait(5))  # type: ignore[arg-type,return-value]
    some.begin([work(Slow())])
    some.begin([work(Quick())])
    while not some._ended:
        pass

    with monkeypatch.context() as patched:
        patched.setattr(some, "_wait", waited.append)
        (ended,) = some.take(5)

    assert isinstance(ended.work.agent, Quick)
    assert waited == []
    may_end.set()
    while some.left:
        some.take(5)


@pytest.mark.parametrize(
    ("mean", "gathers"), [(0.0, 0.005), (0.4, 0.02), (60.0, 0.05)], ids=["none", "share", "most"]
)
def test_answers_of_one_agent_are_gathered_by_what_its_calls_take(mean, gathers, pool, monkeypatch):
    may_end, waited = threading.Event(), []
    first = work(Slow())
    some: Any = calls(pool, lambda one: None if one is first else may_end.wait(5))  # type: ignore[arg-type,return-value]
    some.begin([first, work(Slow())])
    while not some._ended:
        pass
    call_pool._paces()["toy.slow"] = mean
    now = [1000.0]
    monkeypatch.setattr(call_pool, "monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(some, "_wait", wait)

    assert len(some.take(60)) == 1

    assert waited == [pytest.approx(gathers)]
    may_end.set()


def test_calls_that_wait_too_long_for_a_thread_get_one_each(pool):
    class Wide(Agent):
        name = "toy.wide"
        bundle_limit = 1

    both = threading.Barrier(2, timeout=5)
    some = calls(pool, lambda one: both.wait() and None)  # type: ignore[func-returns-value]

    # Two are more than go side by side, and each waits for the other.
    some.begin([work(Wide()), work(Wide())])
    while some.left:
        some.take(5)


class Over(Deadline):
    def __init__(self) -> None:
        super().__init__(60)
        self.left = 1.0

    def remaining(self) -> float:
        return self.left


def test_a_call_past_its_deadline_is_told_from_others(pool):
    may_end, late, fine = threading.Event(), Over(), Over()
    some = calls(pool, lambda one: may_end.wait(5) and None)
    some.begin([work(Slow(), late), work(Quick(), fine)][:1])
    some.begin([work(Quick(), fine)])
    assert not some.has_overdue()

    late.left = -3.0

    assert some.has_overdue()
    assert not some.are_all_overdue()
    assert some.overdue_agents() == ["toy.slow"]
    fine.left = -1.0
    assert some.are_all_overdue()
    assert some.overdue_seconds() == 1.0
    may_end.set()
    while some.left:
        some.take(5)


def test_local_work_keeps_to_one_thread_however_many_others_call_in(monkeypatch):
    """Its thread keeps a database connection, of which a server has few."""
    threads = call_pool._Threads()
    monkeypatch.setattr(call_pool, "threads", threads)
    together = threading.Barrier(8)
    places: dict[bool, set[str]] = {False: set(), True: set()}

    def call(one: Work) -> None:
        places[one.agent.is_local].add(threading.current_thread().name)
        if not one.agent.is_local:
            together.wait(5)

    wide = type("Wide", (Agent,), {"name": "toy.wide", "side_by_side": 8})()
    for _ in range(8):
        some = Calls(call)
        some.begin([work(wide) for _ in range(8)])
        some.begin([work(Local())])
        while some.left:
            some.take(5)

    # Eight at once; a thread that is about to be free counts as busy, so that there may be more.
    assert len(places[False]) >= 8
    assert len(places[True]) == 1
    assert places[False].isdisjoint(places[True])
    for is_local in (False, True):
        threads(local=is_local).shutdown()
