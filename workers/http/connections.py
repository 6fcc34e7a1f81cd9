"""The connections of this process, shared by its threads and never by two processes."""

import os
import sys
import threading

import httpx2

from workers.http.transport import DeadlineTransport

#: More than a process has threads.
LIMITS = httpx2.Limits(max_connections=100)


class Connections:
    """Makes the one transport of a process on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._transport: DeadlineTransport | None = None

    def transport(self) -> DeadlineTransport:
        """Return the transport; any thread may use it at any time."""
        with self._lock:
            if self._transport is None:
                self._transport = DeadlineTransport(LIMITS)
            return self._transport

    def forget(self) -> None:
        """Begin anew without closing anything, the lock included: for a child after a fork."""
        self._lock = threading.Lock()
        self._transport = None


_connections = Connections()
transport = _connections.transport
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_connections.forget)
