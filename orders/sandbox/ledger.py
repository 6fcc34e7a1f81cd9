"""The record of each service's effects: the outside witness."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from orders.sandbox import effects
from orders.sandbox.answers import Answer
from orders.sandbox.calls import Call
from orders.sandbox.counts import Counts
from orders.sandbox.writer import Writer

SCHEMA = (
    *effects.SCHEMA,
    Counts.SCHEMA,
    "CREATE TABLE IF NOT EXISTS fault_sets (service TEXT PRIMARY KEY, body TEXT NOT NULL)",
)


class Ledger:
    """The durable memory of all services, in one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self.counts = Counts()
        self._writer = Writer(path, SCHEMA, self.counts.write)
        with closing(self._read()) as connection:
            self.counts.load(connection)

    def perform(self, call: Call) -> Answer:
        """Perform a call, at most once per key.

        An effect is on the disk before its answer is returned; concurrent calls with one key all
        get the answer of the first.
        """
        return self._writer.run(lambda connection: effects.perform(connection, call))

    def effects(self, service: str) -> list[dict[str, Any]]:
        """List the effects of a service, in the order in which they happened."""
        with closing(self._read()) as connection:
            return effects.list_effects(connection, service)

    def fault_set(self, service: str) -> dict[str, Any]:
        """Return the fault set last stored for a service, empty if there is none."""
        statement = "SELECT body FROM fault_sets WHERE service = ?"
        with closing(self._read()) as connection:
            row = connection.execute(statement, [service]).fetchone()
        stored: dict[str, Any] = json.loads(row[0]) if row else {}
        return stored

    def store_fault_set(self, service: str, fault_set: dict[str, Any]) -> None:
        """Replace the fault set of a service; it survives a restart."""
        statement = "INSERT OR REPLACE INTO fault_sets VALUES (?, ?)"
        row = [service, json.dumps(fault_set)]
        self._writer.run(lambda connection: connection.execute(statement, row))

    def close(self) -> None:
        """Write what is still in memory and close the file."""
        self._writer.close()

    def _read(self) -> sqlite3.Connection:
        return sqlite3.connect(self._uri, uri=True, timeout=5)
