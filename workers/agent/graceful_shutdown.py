"""A worker that is stopped hands the claims it cannot finish back: a restart uses up no attempts.

SIGTERM lets calls end for ``SAS_SHUTDOWN_SECONDS``; then, or at a second SIGTERM, the pool is
ended as SIGQUIT would.  What it had started and not answered is pending again at once.  While a
task of the project's own runs, the pool is not ended: acknowledged early, as Celery does unless
told otherwise, that task would be lost.
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

#: How often the parent looks whether the time for calls to end is over.
LOOK_SECONDS = 0.25
#: Time the kernel has to end a killed child.
BURY_SECONDS = 5


class OrderlyEnd(bootsteps.StartStopStep):
    """Bounds a warm shutdown, and hands claims back after a cold one.

    It does so at the interpreter's exit.  Nothing in Celery comes as surely after the pool's
    end: ``worker_shutdown`` is not sent by a cold shutdown, ``worker_shutting_down``
    runs inside the signal handler, and the order of bootsteps is not fixed.
    """

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        # Before the pool starts: its children inherit the name of the run.
        self._mark = mark_of(run())
        self._pid = os.getpid()
        self._requests_to_end = 0
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        atexit.register(self._hand_back)
        if issubclass(parent.pool_cls, TaskPool):
            signals.worker_shutting_down.connect(self._note, weak=False)
            threading.Thread(
                target=self._bound, args=(parent.app,), name="shutdown-bound", daemon=True
            ).start()

    def _note(self, how: str = "", **kwargs: Any) -> None:
        # In a signal handler: a plain number, because the thread may hold any lock.
        if how == "Warm":
            self._requests_to_end += 1

    def _bound(self, app: Any) -> None:
        """End the pool when the time for its calls to end is over; a thread's whole life."""
        while not self._requests_to_end:
            time.sleep(LOOK_SECONDS)
        end = time.monotonic() + sas.shutdown_seconds
        while self._requests_to_end == 1 and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        if others := others_under_way():
            log.warning("shutdown_waits_for_own_tasks", extra={"tasks": sorted(others)})
        while others_under_way():
            time.sleep(LOOK_SECONDS)
        log.warning("shutdown_bound_reached")
        # The calls have had this time already.
        app.conf.worker_soft_shutdown_timeout = 0
        os.kill(self._pid, signal.SIGQUIT)

    def _hand_back(self) -> None:
        # After a warm shutdown every call has ended, and its reply may still be on its way.
        is_cold: Any = state.should_terminate
        if os.getpid() != self._pid or not is_cold:
            return
        try:
            _bury_children()
            hand_back(self._mark)
        except Exception:
            # The claims expire then: an attempt each.
            log.exception("release_failed")
        finally:
            connections.close_all()


def others_under_way() -> set[str]:
    """Return the names of the tasks that run in this worker and are not the engine's."""
    # Copied until no other thread has changed the set meanwhile.
    while True:
        with suppress(RuntimeError):
            names = {request.name for request in tuple(state.active_requests)}
            return {name for name in names if not name.startswith(dispatch.TASKS)}


def hand_back(mark: str) -> int:
    """Hand back every unfinished claim of a run whose processes have ended; return how many."""
    local = {agent.name for agent in registry.agents() if agent.is_local}
    count = 0
    while released := release_unfinished(mark, me("worker"), local=local):
        count += released
    if count:
        log.warning("claims_released", extra={"claims": count})
        dispatch.nudge()
    return count


def _bury_children() -> None:
    """End the pool's children that are left: they would die with this process anyway."""
    children = active_children()
    for child in children:
        if child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)
    for child in children:
        child.join(BURY_SECONDS)
