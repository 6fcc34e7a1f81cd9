"""Run a worker's relays in separate threads, beside its tasks.

A webhook may hang until its deadline, and no other work of the worker may wait for it.  The
threads keep no state: when the process ends, their claimed sinks are due again once the claims
end.
"""

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from django.db import close_old_connections, connections

from workers.notify.relay import relays
from workers.runtime.per_process import per_process
from workers.runtime.soft_limit import block_soft_limit

log = logging.getLogger(__name__)

#: Time without work after which a thread closes its database connection.
IDLE_SECONDS = 30.0


class Runner(Protocol):
    """Does the due work, and returns; only one thread may run it at a time."""

    kind: str

    def run(self) -> int: ...


_others: list[Callable[[], Runner]] = []


def also_run(make: Callable[[], Runner]) -> None:
    """Register one more runner, with its own thread in every process that notifies submitters."""
    _others.append(make)


def runners() -> list[Runner]:
    """Return the relays of submitters, and the other registered runners."""
    return [*relays(), *(make() for make in _others)]


def run_now() -> int:
    """Notify all due receivers, in this thread; return how many messages arrived."""
    return sum(runner.run() for runner in runners())


class RelayThread:
    """One relay and its thread."""

    def __init__(self, relay: Runner) -> None:
        self._relay = relay
        self._is_due = threading.Event()
        threading.Thread(target=self._work, name=f"relay-{relay.kind}", daemon=True).start()

    def wake_up(self) -> None:
        """Make the relay look, at once or after its current run."""
        self._is_due.set()

    def _work(self) -> None:
        block_soft_limit()
        while True:
            if not self._is_due.wait(IDLE_SECONDS):
                connections.close_all()
                continue
            self._is_due.clear()
            try:
                close_old_connections()
                self._relay.run()
            except Exception:
                # Catch everything: the poll wakes this thread again, so it must go on.
                log.exception("relay_failed", extra={"kind": self._relay.kind})
                connections.close_all()


@per_process
def _threads() -> list[RelayThread]:
    return [RelayThread(relay) for relay in runners()]


def wake_up() -> None:
    """Make this process notify all due receivers; returns at once."""
    for thread in _threads():
        thread.wake_up()
