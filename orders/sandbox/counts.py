"""Counts of each service's calls, and of how often each of its fault switches struck.

Counts are kept in memory and written with the next effects, at most half a second later: a
kill -9 may lose the last few counts, but never an effect.
"""

import sqlite3
import threading
from collections import Counter


class Counts:
    """Counters by service and name, shared by all threads."""

    SCHEMA = """
        CREATE TABLE IF NOT EXISTS counts (
            service TEXT NOT NULL,
            name TEXT NOT NULL,
            value INTEGER NOT NULL,
            PRIMARY KEY (service, name)
        ) WITHOUT ROWID
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: Counter[tuple[str, str]] = Counter()
        self._unwritten: set[tuple[str, str]] = set()

    def load(self, connection: sqlite3.Connection) -> None:
        """Continue from the values of an earlier run."""
        for service, name, value in connection.execute("SELECT service, name, value FROM counts"):
            self._values[service, name] = value

    def add(self, service: str, name: str) -> None:
        """Count one."""
        with self._lock:
            self._values[service, name] += 1
            self._unwritten.add((service, name))

    def get(self, service: str, name: str) -> int:
        """Return the current value, including what is not written yet."""
        with self._lock:
            return self._values[service, name]

    def write(self, connection: sqlite3.Connection) -> None:
        """Write the changed counts, inside the caller's transaction."""
        with self._lock:
            rows = [(*counter, self._values[counter]) for counter in sorted(self._unwritten)]
            self._unwritten.clear()
        connection.executemany("INSERT OR REPLACE INTO counts VALUES (?, ?, ?)", rows)
