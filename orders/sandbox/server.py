"""The services' HTTP server: one listening socket, a thread per connection.

It is the standard library's, because the fault switches need the sockets: to close one without an
answer, or to hold it open for ever.
"""

import contextlib
import functools
import socket
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Self

from orders.sandbox.handler import Handler
from orders.sandbox.ledger import Ledger
from orders.sandbox.service import Service
from orders.sandbox.services import SERVICES
from orders.sandbox.writer import StoreClosed


class Sandbox:
    """All services behind one port.  Use it as a context manager, or start and close it.

    Raises ``OSError`` where the port is taken and ``sqlite3.Error`` where the store cannot be
    opened.
    """

    def __init__(self, store: Path, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._ledger = Ledger(store)
        try:
            self.services = {name: Service(name, self._ledger) for name in SERVICES}
            self._server = Server((host, port), functools.partial(Handler, self.services))
        except BaseException:
            self._ledger.close()
            raise
        self.url = f"http://{host}:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="sandbox", daemon=True
        )

    def start(self) -> None:
        """Start answering, in background threads."""
        self._thread.start()

    def close(self) -> None:
        """Stop answering, close every connection and write everything to disk."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        self._server.cut_connections()
        self._ledger.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Server(ThreadingHTTPServer):
    """The listening socket and the connections it accepted."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, *args: Any) -> None:
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__(*args)

    def server_bind(self) -> None:
        """Bind without HTTPServer's search for the host's full name, which can take seconds."""
        TCPServer.server_bind(self)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def cut_connections(self) -> None:
        """Close all connections, also idle ones: a closed server must not answer on them."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):  # The client has closed it already.
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report our own errors only: clients that disconnect are normal here."""
        if not isinstance(sys.exception(), OSError | StoreClosed):
            super().handle_error(request, client_address)
