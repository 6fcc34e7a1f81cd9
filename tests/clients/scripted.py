"""A server that answers each connection with the bytes it is told, as slowly as it is told."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator

Script = Iterable[bytes]


def answer(status: str, body: bytes = b"{}", **headers: str) -> bytes:
    """Compose one answer, after which the connection is closed."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    head = "\r\n".join([f"HTTP/1.1 {status}", "Connection: close", *lines])
    return head.encode() + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Scripted:
    """Listens on a port of its own; the last script serves all further connections."""

    def __init__(self, *scripts: Script, tls: ssl.SSLContext | None = None) -> None:
        self._scripts = list(scripts)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self.requests.append(_request(connection))
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            for piece in script:
                connection.sendall(piece)


def _request(connection: socket.socket) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@contextlib.contextmanager
def scripted(*scripts: Script, tls: ssl.SSLContext | None = None) -> Iterator[Scripted]:
    """Run a scripted server for the length of a block."""
    server = Scripted(*scripts, tls=tls)
    try:
        yield server
    finally:
        server.close()
