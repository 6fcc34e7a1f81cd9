"""PostgreSQL crashes, is away, has no connection left."""

import signal
from contextlib import ExitStack, suppress

import psycopg

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.instances.postgresql import DATABASE, ROLE
from tests.chaos.schedule import Strike

#: How often what the system has given back is taken from it again.
HOLD_SECONDS = 0.5


def crash(scene: Scene, strike: Strike) -> None:
    """End it at once, as `pg_ctl stop -m immediate` does, and start it again."""
    server = scene.backend.postgresql
    with scene.hurting(server, strike, "immediate restart"):
        server.kill(signal.SIGQUIT)
        server.start()


def outage(scene: Scene, strike: Strike) -> None:
    server = scene.backend.postgresql
    with scene.hurting(server, strike, "stopped"):
        server.kill(signal.SIGINT)
        try:
            scene.wait(strike.lasts)
        finally:
            server.start()


def exhaust(scene: Scene, strike: Strike) -> None:
    """Hold every connection that the system's login can get, and those it gives back."""
    server = scene.backend.postgresql
    with scene.hurting(server, strike, "no connection left"), ExitStack() as held:
        for _ in range(max(1, round(strike.lasts / HOLD_SECONDS))):
            with suppress(psycopg.OperationalError):
                while True:
                    held.enter_context(server.connect(DATABASE, ROLE))
            scene.wait(HOLD_SECONDS)


FAULTS = (
    Fault("database-crash", "PostgreSQL ends at once and recovers from its log",
          crash, (8, 16), needs=("postgresql",)),
    Fault("database-outage", "PostgreSQL is away for a while",
          outage, (25, 45), (6, 15), needs=("postgresql",)),
    Fault("connections", "every connection PostgreSQL has is taken",
          exhaust, (20, 40), (4, 10), needs=("postgresql",)),
)  # fmt: skip
