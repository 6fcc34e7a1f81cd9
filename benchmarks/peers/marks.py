"""What peers say of themselves while they run, at next to no cost: lines in a file, a word
through a socket.

Celery's chain keeps nothing, so this is all there is to count; one write of a few bytes per
order takes microseconds, where an order takes milliseconds.
"""

import os
import socket
import time
from functools import cache
from pathlib import Path

from benchmarks.exceptions import Wrong
from benchmarks.system import Progress

BEGUN, ENDED = "begun", "ended"


@cache
def _file(pid: int) -> int:
    path = Path(os.environ["SAS_RUN_DIR"], "marks")
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def mark(event: str, order: int) -> None:
    """Add a line; the kernel keeps lines of several processes apart."""
    os.write(_file(os.getpid()), f"{event} {order} {time.time():.6f}\n".encode())


def progress(folder: Path) -> Progress:
    """Return how far the orders are: when the first began, and when the last so far ended."""
    seen: dict[str, list[float]] = {BEGUN: [], ENDED: []}
    for line in _lines(folder):
        event, _, at = line.split()
        seen[event].append(float(at))
    return Progress(
        len(seen[ENDED]), min(seen[BEGUN], default=None), max(seen[ENDED], default=None)
    )


def check(folder: Path, orders: int) -> None:
    """Raise ``Wrong`` unless each order has begun and ended once."""
    seen: dict[str, set[int]] = {BEGUN: set(), ENDED: set()}
    for line in _lines(folder):
        event, order, _ = line.split()
        if int(order) in seen[event]:
            raise Wrong(f"order {order} has {event} twice")
        seen[event].add(int(order))
    for event, found in seen.items():
        if found != set(range(orders)):
            raise Wrong(f"{len(found)} of {orders} orders have {event}")


def _lines(folder: Path) -> list[str]:
    path = folder / "marks"
    return path.read_text().splitlines() if path.exists() else []


class Bell:
    """A socket in the run folder on which the last step of an order rings."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(folder / "bell"))

    def wait(self) -> int:
        """Return the next order that has rung."""
        return int(self._socket.recv(32))


@cache
def _ringer(pid: int) -> socket.socket | None:
    path = Path(os.environ["SAS_RUN_DIR"], "bell")
    if not path.exists():
        return None
    ringer = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    ringer.connect(str(path))
    return ringer


def ring(order: int) -> None:
    """Wake whoever waits for this order, if somebody does."""
    if (ringer := _ringer(os.getpid())) is not None:
        ringer.send(str(order).encode())
