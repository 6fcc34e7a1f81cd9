"""A fake service that outlives its callers, with one effect for each key."""

import fcntl
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any


class Ledger:
    """Effects in a file, remembered by their idempotency key as a real service does.

    For fake agents in tests that kill processes: what such an agent keeps in memory is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def act(self, key: str, operation: str, **facts: Any) -> dict[str, Any]:
        """Have an effect, unless the key has had it; return the answer of the first time."""
        with self._path.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            for line in file:
                earlier: dict[str, Any] = json.loads(line)
                if earlier["key"] == key:
                    return earlier
            effect = {"key": key, "operation": operation, **facts}
            file.write(json.dumps(effect) + "\n")
            file.flush()
            os.fsync(file.fileno())
        return effect

    def find(self, key: str) -> dict[str, Any] | None:
        """Return the effect of a key; None: it had none."""
        return next((effect for effect in self.effects() if effect["key"] == key), None)

    def effects(self) -> list[dict[str, Any]]:
        """Return all effects, in order."""
        return [json.loads(line) for line in self._path.read_text().splitlines()]

    def count(self) -> Counter[str]:
        """Return how often each operation was done."""
        return Counter(effect["operation"] for effect in self.effects())

    def clear(self) -> None:
        """Forget everything."""
        self._path.write_text("")
