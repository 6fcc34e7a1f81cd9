"""Connections that keep a total deadline.

HTTP libraries time each read and write on its own, so a server that drips one byte a second,
in its headers or its body, outlives any such timeout.  Here the timeouts of a request are
*instants* on the monotonic clock, and every operation gets the time left until then.  Only
name resolution keeps the system's own limits.

Each call has a connection of its own.  On one that is used again, whatever a service sends late or
twice is the answer to the next call, and HTTP/1.1 has no mark to tell them apart.
"""

import os
import ssl
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

import httpcore2
import httpx2


class DeadlineTransport(httpx2.HTTPTransport):
    """A connection pool whose timeouts ``connect``, ``read`` and ``write`` are instants.

    ``pool`` stays a duration.  ``sockets`` makes the connections, and gets durations.  Used
    without ``httpx2.Client``, it follows no redirect, keeps no cookie, asks no proxy and writes
    no log line.
    """

    def __init__(
        self, limits: httpx2.Limits, sockets: httpcore2.NetworkBackend | None = None
    ) -> None:
        super().__init__(trust_env=False, limits=limits)
        # httpx2 has no argument for it; the tests of dripping headers fail if this breaks.
        pool: Any = self._pool
        pool._network_backend = _Backend(sockets or httpcore2.SyncBackend())

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Make one call on a new connection, which ends with it."""
        request.headers["Connection"] = "close"
        return super().handle_request(request)


class _Backend(httpcore2.NetworkBackend):
    def __init__(self, sockets: httpcore2.NetworkBackend) -> None:
        self._sockets = sockets

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._sockets.connect_tcp(host, port, left, local_address, socket_options))


class _Stream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(end: float | None, timeout: type[httpcore2.TimeoutException]) -> float | None:
    if end is None:
        return None
    left = end - time.monotonic()
    if left <= 0:
        raise timeout("the time of the call is over")
    return left


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
shared_transport = _connections.transport
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_connections.forget)
