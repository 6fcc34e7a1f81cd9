"""A pool whose children share a pipe outlives each of them, idle ones too."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from billiard import get_context, pool
from billiard.queues import SimpleQueue
from celery.concurrency import get_implementation

from sasproject.celery import app
from workers.celery.prefork import Child, Pool, TaskPool


def who(_number: int) -> int:
    return os.getpid()


@pytest.fixture
def children() -> Iterator[Any]:
    found = Pool(processes=2)
    yield found
    for child in found._pool:
        # Whatever they wait for.
        child.terminate()
    found.terminate()


def wait_until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be so"
        time.sleep(0.02)


def pids(children: Any) -> set[int]:
    """Return who lives; a child that is about to be started has no number yet."""
    return {child.pid for child in children._pool if child.pid is not None}


def test_a_worker_of_ours_has_this_pool():
    assert get_implementation(app.conf.worker_pool) is TaskPool
    assert TaskPool.BlockingPool is Pool


def test_idle_children_that_are_killed_hold_up_no_other(children):
    for _ in range(3):
        answered: set[int] = set()
        wait_until(
            lambda answered=answered: (
                answered.add(children.apply_async(who, (1,)).get(timeout=20))
                or len(answered & pids(children)) == 2
            )
        )
        # Each has let go of the pipe of results, and waits for its next job.
        time.sleep(0.3)
        for pid in answered:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda answered=answered: len(pids(children) - answered) == 2)


def receiver(kind: type[Any]) -> tuple[Any, Callable[[float], tuple[bool, Any]]]:
    """Return a pipe of jobs, and how a child of a kind takes one out of it."""
    jobs, results = (SimpleQueue(ctx=get_context()) for _ in range(2))
    return jobs, kind(jobs, results)._make_recv_method(jobs)


def test_a_child_without_a_job_holds_no_lock():
    jobs, receive = receiver(Child)
    assert receive(0.01) == (False, None)
    jobs.put((1, "a job"))
    assert receive(1.0) == (True, (1, "a job"))
    # Somebody else was quicker.
    assert receive(0.01) == (False, None)
    assert jobs._rlock.acquire(block=False)


def test_canary_billiard_waits_with_the_lock_in_its_hands():
    """Once it does not, ``workers.celery.prefork`` may go."""
    jobs, receive = receiver(pool.Worker)
    idle = threading.Thread(target=receive, args=(1.0,), daemon=True)
    idle.start()

    def is_held() -> bool:
        if jobs._rlock.acquire(block=False):
            jobs._rlock.release()
            return False
        return True

    wait_until(is_held, 5)
    jobs.put(None)
    idle.join(5)
    assert not idle.is_alive()
