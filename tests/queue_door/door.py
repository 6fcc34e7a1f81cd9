"""A system with a consumer, as its processes, and a look at its tables from outside."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import psycopg

from tests.acceptance.system import System
from tests.programs import until
from tests.queue_door.sending import QUEUE

#: The submitters' own keys, without the submitter behind them.
ORDERS = (
    "SELECT substr(p.submission_key, 1, length(p.submission_key) - length(o.submitter) - 1)"
    " FROM orders_order o JOIN workers_process p ON p.id = o.process_id ORDER BY o.number"
)
LETTERS = "SELECT message_id, client, reasons, properties FROM orders_deadletter ORDER BY id"


class Door:
    """A system with a consumer, and a client's token."""

    def __init__(self, system: System, url: str) -> None:
        self.system, self.url = system, url
        self.token = system.manage("client", "add", "acme").split()[-1]

    def start(self) -> None:
        self.system.start("consumer", "manage.py", "consume_submissions")
        until(lambda: f"consuming {QUEUE}\n" in self.log(), 20)

    def log(self) -> str:
        return (self.system.folder / "consumer.log").read_text()

    def look(self) -> dict[str, Any]:
        """Return the keys of the orders, and the dead letters, as the tables have them."""
        return {
            "orders": [key for (key,) in self._rows(ORDERS)],
            "letters": [
                {
                    "message_id": message_id,
                    "client": client,
                    "reasons": json.loads(reasons),
                    "properties": json.loads(properties),
                }
                for message_id, client, reasons, properties in self._rows(LETTERS)
            ],
        }

    def _rows(self, statement: str) -> list[Any]:
        url = self.system.environment["DATABASE_URL"]
        if url.startswith("sqlite"):
            with closing(sqlite3.connect(url.removeprefix("sqlite:///"), timeout=20)) as database:
                return database.execute(statement).fetchall()
        plain = statement.replace("reasons, properties", "reasons::text, properties::text")
        with psycopg.connect(url.replace("postgres://", "postgresql://")) as server:
            return server.execute(plain).fetchall()

    def when_handled(self, count: int, seconds: float = 30) -> dict[str, Any]:
        """Wait until so many orders and dead letters are there, and the queue is empty."""
        found: dict[str, Any] = {}

        def there() -> bool:
            nonlocal found
            found = self.look()
            return len(found["orders"]) + len(found["letters"]) >= count

        until(there, seconds)
        return found


def prepare(system: System) -> None:
    system.manage("migrate", "-v", "0")
    system.manage("seed_demo")
