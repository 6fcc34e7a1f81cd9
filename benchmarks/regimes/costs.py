"""What orders cost while they were worked on: CPU time, commits, WAL, fsyncs, messages."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from benchmarks import processes
from benchmarks.processes import Fleet

#: What a started transaction, the end of the WAL, and the count of fsyncs are asked by.
_DATABASE = (
    "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,"
    " (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8"
)
#: One message published; of all virtual hosts, so nothing else may use the broker meanwhile.
_MESSAGES = re.compile(r"messages_received_total => (\d+)")


@dataclass
class Costs:
    """Per order.  ``None``: this system has no such thing, or it cannot be told here."""

    cpu_ms: dict[str, float] = field(default_factory=dict)
    commits: float | None = None
    wal_bytes: float | None = None
    fsyncs: float | None = None
    messages: float | None = None

    def as_found(self) -> dict[str, Any]:
        return {
            "cpu_ms_per_order": self.cpu_ms,
            "cpu_ms": sum(self.cpu_ms.values()),
            "commits": self.commits,
            "wal_bytes": self.wal_bytes,
            "fsyncs": self.fsyncs,
            "messages": self.messages,
        }


class Meter:
    """Reads the counters when the orders begin and when they have ended."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._began: dict[str, Any] = {}
        self._ended: dict[str, Any] = {}
        self._ended_before = 0

    def begin(self) -> None:
        self._began = _read(self._fleet)

    def begin_again(self, ended: int) -> None:
        """Forget the CPU time so far, for starting is no cost of an order, and what has ended."""
        self._ended_before = ended
        self._began["cpu"] = _cpu(self._fleet)

    def end(self) -> None:
        self._ended = _read(self._fleet)

    def costs(self, orders: int) -> Costs:
        """Return what an order cost.  Call it once the processes have stopped.

        PostgreSQL's processes tell of their fsyncs no later than when they end.
        """
        found = Costs()
        counted = max(1, orders - self._ended_before)
        for role, seconds in self._ended["cpu"].items():
            found.cpu_ms[role] = 1000 * (seconds - self._began["cpu"].get(role, 0)) / counted
        self._ended["fsyncs"] = _fsyncs()
        for name in ("commits", "wal_bytes", "fsyncs", "messages"):
            before, after = self._began.get(name), self._ended.get(name)
            if before is not None and after is not None:
                setattr(found, name, (after - before) / orders)
        return found


def _read(fleet: Fleet) -> dict[str, Any]:
    # What takes long to ask comes first, and the CPU time last: asking costs some.
    found: dict[str, Any] = {"messages": _messages(), "fsyncs": _fsyncs()}
    with _database() as database:
        if database is not None:
            found["commits"], found["wal_bytes"] = database.execute(_DATABASE).fetchone()
    return found | {"cpu": _cpu(fleet)}


def _cpu(fleet: Fleet) -> dict[str, float]:
    return fleet.cpu_seconds() | processes.servers_cpu()


@contextmanager
def _database() -> Iterator[psycopg.Connection | None]:
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield None
        return
    with psycopg.connect(url.replace("postgres://", "postgresql://"), autocommit=True) as found:
        yield found


def _fsyncs() -> int | None:
    with _database() as database:
        if database is None:
            return None
        try:
            return int(database.execute("SELECT wal_sync FROM pg_stat_wal").fetchone()[0])
        except psycopg.Error:
            # Newer servers count elsewhere.
            return None


def _messages() -> int | None:
    if not os.environ.get("BROKER_URL", "").startswith("amqp"):
        return None
    done = subprocess.run(
        ["rabbitmqctl", "-q", "eval", "rabbit_global_counters:overview()."],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    counts = [int(count) for count in _MESSAGES.findall(done.stdout)]
    return sum(counts) if counts else None
