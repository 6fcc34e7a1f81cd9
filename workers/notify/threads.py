"""Where a worker's relays run: threads of their own, beside its tasks.

A webhook may hang for as long as it is allowed to, and nothing else that the worker does may
wait for it.  The threads keep nothing: when the process ends, what they had claimed is due
again once the claim is over.
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

#: Time without work after which a thread gives its database connection back.
IDLE_SECONDS = 30.0


class Runner(Protocol):
    """Does what is due, and ends; one thread may run it at a time."""

    kind: str

    def run(self) -> int: ...


_others: list[Callable[[], Runner]] = []


def also_run(make: Callable[[], Runner]) -> None:
    """Have each process run one more, in a thread of its own, wherever submitters are told."""
    _others.append(make)


def runners() -> list[Runner]:
    """Return the relays of submitters, and what else was registered."""
    return [*relays(), *(make() for make in _others)]


def run_now() -> int:
    """Tell everybody who is due, in this thread; return how many messages arrived."""
    return sum(runner.run() for runner in runners())


class Desk:
    """One relay and its thread."""

    def __init__(self, relay: Runner) -> None:
        self._relay = relay
        self._wanted = threading.Event()
        threading.Thread(target=self._work, name=f"relay-{relay.kind}", daemon=True).start()

    def want(self) -> None:
        """Have the relay look, at once or right after what it is doing."""
        self._wanted.set()

    def _work(self) -> None:
        block_soft_limit()
        while True:
            if not self._wanted.wait(IDLE_SECONDS):
                connections.close_all()
                continue
            self._wanted.clear()
            try:
                close_old_connections()
                self._relay.run()
            except Exception:
                # Whatever it was: the poll asks again, and this thread must be there.
                log.exception("relay_failed", extra={"kind": self._relay.kind})
                connections.close_all()


@per_process
def _desks() -> list[Desk]:
    return [Desk(relay) for relay in runners()]


def want() -> None:
    """Have this process tell whoever is due; returns at once."""
    for desk in _desks():
        desk.want()
