"""`python -m benchmarks.regimes.service PORT SECONDS`: a remote service that takes its time.

It counts the calls that go on at once; `GET /` asks for its counts.
"""

import asyncio
import json
import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from benchmarks import processes

#: How long it takes to answer; without it no service runs.
SECONDS = "BENCH_SERVICE_SECONDS"
URL = "BENCH_SERVICE_URL"
READY = "benchmark: service ready"


@contextmanager
def beside(folder: Path) -> Iterator[None]:
    """Run the service, and tell everybody where it is; what it uses is no cost of an order."""
    if SECONDS not in os.environ:
        yield
        return
    port = processes.free_port()
    with processes.fleet(folder, {}) as fleet:
        fleet.start("service", "-m", "benchmarks.regimes.service", str(port), os.environ[SECONDS])
        fleet.wait_for("service", READY)
        os.environ[URL] = f"http://127.0.0.1:{port}"
        yield


def counts() -> dict[str, Any]:
    """Return the calls so far, those that go on now, the most at once, and all their seconds."""
    with urllib.request.urlopen(os.environ[URL], timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


class Counts:
    """Calls by their beginning and end; ``at`` is the service's own clock."""

    def __init__(self) -> None:
        self.calls = self.now = self.most = 0
        self.call_seconds = self.at = 0.0

    def begin(self, at: float) -> None:
        self._pass(at)
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)

    def end(self, at: float) -> None:
        self._pass(at)
        self.now -= 1

    def told(self, at: float) -> dict[str, Any]:
        self._pass(at)
        return dict(vars(self))

    def _pass(self, at: float) -> None:
        self.call_seconds += self.now * (at - self.at)
        self.at = at


class _Connection(asyncio.Protocol):
    def __init__(self, seconds: float, counts: Counts) -> None:
        self._seconds, self._counts = seconds, counts
        self._received = b""
        self._call: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, error: Exception | None) -> None:
        if self._call is not None:
            self._call.cancel()
            self._end()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        self._received = b""
        loop = asyncio.get_running_loop()
        if head.startswith(b"GET "):
            self._send(self._counts.told(loop.time()))
            return
        self._counts.begin(loop.time())
        self._call = loop.call_later(self._seconds, self._answer)

    def _answer(self) -> None:
        self._end()
        self._send({})

    def _end(self) -> None:
        self._call = None
        self._counts.end(asyncio.get_running_loop().time())

    def _send(self, told: dict[str, Any]) -> None:
        body = json.dumps(told).encode()
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        )


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def _serve(port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    counts = Counts()
    counts.at = loop.time()
    server = await loop.create_server(
        lambda: _Connection(seconds, counts), "127.0.0.1", port, backlog=512
    )
    print(READY, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
