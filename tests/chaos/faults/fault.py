"""What a fault is: a name, a rhythm, and a function that strikes, waits and heals."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.chaos.backend import Backend
from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import Crew
from tests.chaos.doors import Door
from tests.chaos.instances.server import Server
from tests.chaos.schedule import Rhythm, Strike
from tests.chaos.system import System

#: What waits at a broker waits for a moment: look again and again until there is something.
LOOKS, LOOK_SECONDS = 200, 0.02


class TooLate(Exception):
    """The faults ended while one waited for its turn at a server."""


@dataclass(frozen=True)
class Scene:
    """What a fault may hurt."""

    system: System
    chronicle: Chronicle
    #: Set when the faults are to end: whatever is broken is healed at once then.
    ending: threading.Event
    #: Where orders come in, by name.
    doors: Mapping[str, Door] = field(default_factory=dict)

    @property
    def backend(self) -> Backend:
        return self.system.backend

    @property
    def crew(self) -> Crew:
        return self.system.crew

    @contextmanager
    def alone_at(self, server: Server, strike: Strike) -> Iterator[None]:
        """Hurt a server for the time of a block, one fault at a time; raise ``TooLate``.

        A fault that has not struck at all yet strikes even at the end, and is healed at once.
        """
        with server.busy:
            if self.ending.is_set() and strike.fault in self.chronicle.strikes():
                raise TooLate
            yield

    @contextmanager
    def hurting(self, server: Server, strike: Strike, says: str) -> Iterator[None]:
        """Do the same, and note it as a fault that lasts as long as the block."""
        with self.alone_at(server, strike), self.chronicle.during(strike.fault, server.name, says):
            yield

    def looks(self) -> Iterator[None]:
        """Yield before each look at what may be empty, for some seconds or until the faults end."""
        for _ in range(LOOKS):
            yield
            if self.ending.wait(LOOK_SECONDS):
                return

    def wait(self, seconds: float) -> None:
        """Let a fault last; shorter when the faults are to end."""
        self.ending.wait(seconds)


@dataclass(frozen=True)
class Fault:
    """One kind of fault."""

    name: str
    #: What it does, for people.
    says: str
    #: Strikes, lasts and heals, in a thread of its own.  A strike that finds nothing to hurt
    #: marks nothing in the chronicle.
    strike: Callable[[Scene, Strike], None]
    every: tuple[float, float]
    lasts: tuple[float, float] = (0.0, 0.0)
    #: Parts of a pair without which there is nothing to hurt; any of them is enough.
    needs: tuple[str, ...] = ()
    #: Returns why this machine cannot do it; nothing when it can.
    lacks: Callable[[], str] = str
    #: Needs the network between system and servers in its hands.
    by_proxy: bool = False
    #: The server whose data must lie on a small disk.
    small_disk: str = ""

    def rhythm(self) -> Rhythm:
        return Rhythm(self.name, self.every, self.lasts)

    def why_not(self, pair: str) -> str:
        """Return why it cannot strike here; nothing when it can."""
        if self.needs and not set(self.needs) & set(pair.split("+")):
            return f"{self.name} needs {' or '.join(self.needs)}, and the run is on {pair}"
        return self.lacks()
