"""Celery's prefork pool, fixed where a child that dies idle would block its worker.

With a transport without an event loop (files), the children of a pool share one pipe, and in
billiard 4 an idle child holds the pipe's lock while it waits for a job.  If it is killed then, by
the kernel for lack of memory or by an operator, the lock stays locked: no child gets a job any
more, and the worker lives on and does nothing.  Here a child takes the lock only when there is a
job, and only while it reads it.  What remains are the microseconds in which a child reads a job
or writes a result.
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
                # The same job woke other children, and one of them may have it.
                if not conn._reader.poll(0):
                    return False, None
                return True, conn._reader.recv()

        return receive


class Pool(pool.Pool):
    Worker = Child


class TaskPool(prefork.TaskPool):
    BlockingPool = Pool
