"""Report that a worker is alive: its parent process tells the store and its own children.

The store says which worker may claim what; see ``store.live_workers``.  The children read in shared
memory when to take no more; see ``runtime.worker_pulse``.
"""

import logging
import threading
from typing import Any

from celery import bootsteps, signals
from celery.concurrency.prefork import TaskPool
from django.db import InterfaceError, OperationalError, connections

from workers.definitions import known
from workers.exceptions import first_line
from workers.runtime import worker_pulse
from workers.runtime.db_connections import apart_from_forks
from workers.runtime.worker_identity import run
from workers.store import live_workers

log = logging.getLogger(__name__)


class Presence(bootsteps.StartStopStep):
    """A thread in the worker's parent process that reports every few seconds."""

    #: A worker counts as live once its processes can take work.
    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self._stopped = threading.Event()
        self._run = run()
        # Read it here: no fork may happen while a thread imports modules.
        known.own()
        self._pulse: worker_pulse.Pulse | None = None
        if issubclass(parent.pool_cls, TaskPool):
            # Before the pool starts: its children inherit it.
            self._pulse = worker_pulse.pulse = worker_pulse.Pulse()
            self._pulse.queues = tuple(parent.app.amqp.queues.consume_from)
            self._pulse.processes = int(parent.concurrency or 1)
            self._pulse.beat()
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        self._stopped.clear()
        signals.worker_shutting_down.connect(self._end, weak=False)
        threading.Thread(
            target=self._report_on, args=(parent,), name="presence", daemon=True
        ).start()

    def stop(self, parent: Any) -> None:
        self._stopped.set()

    terminate = stop

    def _end(self, **kwargs: Any) -> None:
        # Runs in a signal handler: nothing here may wait for a lock.
        if self._pulse is not None:
            self._pulse.stop()
        self._stopped.set()

    def _report_on(self, parent: Any) -> None:
        queues = list(parent.app.amqp.queues.consume_from)
        while not self._stopped.is_set():
            if self._pulse is not None:
                self._pulse.beat()
            self._attempt(self._report, parent.hostname, queues, parent.concurrency or 1)
            self._stopped.wait(live_workers.REPORT_SECONDS)
        self._attempt(live_workers.leave, self._run)

    def _report(self, name: str, queues: list[str], processes: int) -> None:
        code, document = known.own_code(), known.own().to_document()
        live_workers.report(self._run, name, queues, processes, code=code, known=document)
        worker_pulse.set_behind(bool(live_workers.known_elsewhere()))

    def _attempt(self, action: Any, *args: Any) -> None:
        with apart_from_forks():
            try:
                action(*args)
            except (OperationalError, InterfaceError) as away:
                log.warning("presence_not_reported", extra={"reason": first_line(away)})
            except Exception:
                # Catch everything: without this thread the worker would get no work.
                log.warning("presence_not_reported", exc_info=True)
            finally:
                # Keep none open: the pool may fork a child, which must not inherit one.
                connections.close_all()
