"""What was accepted, remembered by whoever submitted it: outside the database, on the disk."""

import json
import threading
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Accepted:
    """One order that a door said yes to."""

    key: str
    number: int
    door: str
    #: Seconds that the submitter waited for the yes, all tries together.
    took: float
    #: When it came, since the run began.
    at: float = 0.0
    #: Placed after the faults had stopped.
    is_late: bool = False


class Register:
    """The list of them; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8")
        self._orders: dict[str, Accepted] = {}
        self._lock = threading.Lock()
        self.refused: list[str] = []

    def add(self, accepted: Accepted) -> None:
        with self._lock:
            self._orders[accepted.key] = accepted
            self._file.write(json.dumps(asdict(accepted)) + "\n")
            self._file.flush()

    def refuse(self, reason: str) -> None:
        """Note an order that a door said no to: none of ours deserves it."""
        with self._lock:
            self.refused.append(reason)

    def orders(self) -> list[Accepted]:
        with self._lock:
            return list(self._orders.values())

    def __len__(self) -> int:
        with self._lock:
            return len(self._orders)

    def close(self) -> None:
        self._file.close()
