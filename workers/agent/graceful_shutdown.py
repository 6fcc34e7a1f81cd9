"""Release the claims that a stopped worker cannot finish: a restart uses up no attempts.

SIGTERM lets calls end for ``SAS_SHUTDOWN_SECONDS``; then, or at a second SIGTERM, the pool is
ended as by SIGQUIT.  Its started but unanswered steps are pending again at once.  While one of the
project's own tasks runs, the pool is not ended: Celery acknowledges early by default, so that task
would be lost.
"""

import atexit
import logging
import os
import signal
import threading
import time
from contextlib import suppress
from typing import Any

from billiard import active_children
from celery import bootsteps, signals
from celery.concurrency.prefork import TaskPool
from celery.worker import state
from django.db import connections

from workers.conf import sas
from workers.definitions import registry
from workers.runtime.worker_identity import mark_of, me, run
from workers.store.claims.release import release_unfinished
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: How often the parent checks whether the time for calls to end is over.
LOOK_SECONDS = 0.25
#: How long to wait for the kernel to end a killed child.
KILL_SECONDS = 5


class OrderlyEnd(bootsteps.StartStopStep):
    """Bounds a warm shutdown, and releases claims after a cold one.

    It releases them at the interpreter's exit.  Nothing in Celery comes as reliably after the end
    of the pool: a cold shutdown does not send ``worker_shutdown``, ``worker_shutting_down`` runs
    inside the signal handler, and the order of bootsteps is not fixed.
    """

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        # Before the pool starts: its children inherit the name of the run.
        self._mark = mark_of(run())
        self._pid = os.getpid()
        self._requests_to_end = 0
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        atexit.register(self._release)
        if issubclass(parent.pool_cls, TaskPool):
            signals.worker_shutting_down.connect(self._note, weak=False)
            threading.Thread(
                target=self._bound, args=(parent.app,), name="shutdown-bound", daemon=True
            ).start()

    def _note(self, how: str = "", **kwargs: Any) -> None:
        # Runs in a signal handler: use a plain number, because the thread may hold any lock.
        if how == "Warm":
            self._requests_to_end += 1

    def _bound(self, app: Any) -> None:
        """Wait, and end the pool when the time for its calls is over; a thread runs this."""
        while not self._requests_to_end:
            time.sleep(LOOK_SECONDS)
        end = time.monotonic() + sas.shutdown_seconds
        while self._requests_to_end == 1 and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        if tasks := others_under_way():
            log.warning("shutdown_waits_for_own_tasks", extra={"tasks": sorted(tasks)})
        while others_under_way():
            time.sleep(LOOK_SECONDS)
        log.warning("shutdown_bound_reached")
        # The calls have already had this time.
        app.conf.worker_soft_shutdown_timeout = 0
        os.kill(self._pid, signal.SIGQUIT)

    def _release(self) -> None:
        # After a warm shutdown every call has ended, but its reply may still be under way.
        is_cold: Any = state.should_terminate
        if os.getpid() != self._pid or not is_cold:
            return
        try:
            _kill_children()
            release(self._mark)
        except Exception:
            # The claims then expire, which costs an attempt each.
            log.exception("release_failed")
        finally:
            connections.close_all()


def others_under_way() -> set[str]:
    """Return the names of tasks running in this worker that are not the engine's."""
    # Repeat the copy until no other thread changes the set meanwhile.
    while True:
        with suppress(RuntimeError):
            names = {request.name for request in tuple(state.active_requests)}
            return {name for name in names if not name.startswith(dispatch.TASKS)}


def release(mark: str) -> int:
    """Release every unfinished claim of a run whose processes have ended; return how many."""
    local = {agent.name for agent in registry.agents() if agent.is_local}
    count = 0
    while released := release_unfinished(mark, me("worker"), local=local):
        count += released
    if count:
        log.warning("claims_released", extra={"claims": count})
        dispatch.wake_scheduler()
    return count


def _kill_children() -> None:
    """Kill the pool's remaining children: they would die with this process anyway."""
    children = active_children()
    for child in children:
        if child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)
    for child in children:
        child.join(KILL_SECONDS)
