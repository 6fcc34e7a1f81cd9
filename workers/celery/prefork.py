"""Celery's prefork pool, mended where a child that dies idle would end the work of its worker.

Where a transport has no event loop (files), the children of a pool share one pipe, and billiard 4
has an idle child wait for its next job with the pipe's lock in its hands.  Killed then, by the
kernel for want of memory or by an operator, it takes the lock along: no child is given a job any
more, and the worker lives on and does nothing.  Here a child takes the lock once there is a job,
for as long as it reads it.  What is left are the microseconds in which a child reads a job or
writes a result.
"""

from collections.abc import Callable
from typing import Any

from billiard import pool
from celery.concurrency import prefork


class Child(pool.Worker):
    def _make_recv_method(self, conn: Any) -> Callable[[float], tuple[bool, Any]]:
        if not hasattr(conn, "_rlock"):
            return super()._make_recv_method(conn)  # type: ignore[misc, no-any-return]

        def receive(timeout: float) -> tuple[bool, Any]:
            if not conn._reader.poll(timeout):
                return False, None
            with conn._rlock:
                # Others were woken by the same job, and one of them may have it.
                if not conn._reader.poll(0):
                    return False, None
                return True, conn._reader.recv()

        return receive


class Pool(pool.Pool):
    Worker = Child


class TaskPool(prefork.TaskPool):
    BlockingPool = Pool
