"""A door: a thread that places its share of the orders, at its pace, until each is accepted."""

import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence

from tests.chaos.accepted import Accepted, Register
from tests.chaos.doors.purchases import Purchase
from tests.chaos.system import System

AGAIN_SECONDS = 0.5
IDLE_SECONDS = 0.2


class Door(ABC):
    """One way in.  Give it purchases; ``is_done`` once all of them are accepted."""

    name: str

    def __init__(self, system: System, register: Register) -> None:
        self.system, self.register = system, register
        self.ended = threading.Event()
        self._placed = 0
        self._wanted = 0
        self._todo: queue.Queue[tuple[float, Purchase]] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name=f"door-{self.name}", daemon=True)
        #: Set once the faults have stopped.
        self.is_late = False

    def place(self, purchases: Sequence[Purchase], per_second: float | None) -> None:
        """Place them, too, so many a second; without a rate one after the other."""
        began = time.monotonic()
        self._wanted += len(purchases)
        for place, purchase in enumerate(purchases):
            self._todo.put((began + (place / per_second if per_second else 0.0), purchase))
        if not self._thread.is_alive():
            self._thread.start()

    @property
    def is_done(self) -> bool:
        return self._placed >= self._wanted

    def crash(self) -> bool:
        """Kill what of the system runs in the door's own process.  False: nothing does."""
        return False

    def close(self) -> None:
        """Stop asking."""
        self.ended.set()
        if self._thread.is_alive():
            self._thread.join(15)

    def _work(self) -> None:
        while not self.ended.is_set():
            try:
                due, purchase = self._todo.get_nowait()
            except queue.Empty:
                self.idle(IDLE_SECONDS)
                continue
            if (left := due - time.monotonic()) > 0:
                self.idle(left)
            self.send(purchase)

    def idle(self, seconds: float) -> None:
        """Wait until the next one is due."""
        self.ended.wait(seconds)

    @abstractmethod
    def send(self, purchase: Purchase) -> None:
        """Place one order, however often it takes; end in ``accept`` or ``refuse``."""

    def accept(self, purchase: Purchase, number: int, since: float) -> None:
        took = round(time.monotonic() - since, 3)
        at = round(self.system.chronicle.now(), 3)
        self.register.add(Accepted(purchase.key, number, self.name, took, at, self.is_late))
        self._placed += 1

    def refuse(self, purchase: Purchase, reason: str) -> None:
        self.register.refuse(f"{self.name}: {purchase.key}: {reason}"[:500])
        self._placed += 1
