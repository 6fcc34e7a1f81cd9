"""A webhook's receiver: a small HTTP server, and the check that its owner would write."""

import base64
import hashlib
import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    url: str = ""
    #: What it answers, and what it is told beside.
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)
    #: While set it takes requests and answers none.
    hangs: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver on a port of its own for the length of a block."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.received.append(Received(self.path, headers, body))
            if receiver.hangs.is_set():
                receiver.goes_on.wait(30)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.goes_on.set()
        server.shutdown()
        server.server_close()
        thread.join()


def is_signed(received: Received, secret: str) -> bool:
    """Check a signature as standardwebhooks.com says, with nothing of ours."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = b".".join(
        [
            received.headers["webhook-id"].encode(),
            received.headers["webhook-timestamp"].encode(),
            received.body,
        ]
    )
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    given = [one.split(",", 1) for one in received.headers["webhook-signature"].split(" ")]
    return any(version == "v1" and hmac.compare_digest(value, expected) for version, value in given)
