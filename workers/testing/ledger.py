"""A service that outlives the process which calls it: what it did, once for each key."""

import fcntl
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any


class Ledger:
    """Effects in a file, remembered by their idempotency key as a real service does.

    For fake agents in tests that kill processes: what such an agent keeps in memory dies with
    it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def act(self, key: str, operation: str, **facts: Any) -> dict[str, Any]:
        """Have an effect, unless the key has had it; return the first answer in any case."""
        with self._path.open("r+") as book:
            fcntl.flock(book, fcntl.LOCK_EX)
            for line in book:
                known: dict[str, Any] = json.loads(line)
                if known["key"] == key:
                    return known
            made = {"key": key, "operation": operation, **facts}
            book.write(json.dumps(made) + "\n")
            book.flush()
            os.fsync(book.fileno())
        return made

    def find(self, key: str) -> dict[str, Any] | None:
        """Return what was done for a key; None: nothing."""
        return next((one for one in self.effects() if one["key"] == key), None)

    def effects(self) -> list[dict[str, Any]]:
        """Return everything done, in order."""
        return [json.loads(line) for line in self._path.read_text().splitlines()]

    def count(self) -> Counter[str]:
        """Return how often each operation was done."""
        return Counter(one["operation"] for one in self.effects())

    def clear(self) -> None:
        """Forget everything."""
        self._path.write_text("")
