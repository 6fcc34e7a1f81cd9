"""`python -m benchmarks.regimes.service PORT SECONDS`: a remote service that takes its time."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import processes

#: How long it takes to answer; without it no service runs.
SECONDS = "BENCH_SERVICE_SECONDS"
URL = "BENCH_SERVICE_URL"
READY = "benchmark: service ready"
_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


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


class _Connection(asyncio.Protocol):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < _length(head):
            return
        self._received = b""
        asyncio.get_running_loop().call_later(self._seconds, self._transport.write, _ANSWER)


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def _serve(port: int, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(seconds), "127.0.0.1", port, backlog=512)
    print(READY, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
