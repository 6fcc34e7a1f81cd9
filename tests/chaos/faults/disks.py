"""A server's disk is full for a while."""

from collections.abc import Callable

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.instances import small_disk
from tests.chaos.schedule import Strike


def _full(name: str) -> Callable[[Scene, Strike], None]:
    def strike_with(scene: Scene, strike: Strike) -> None:
        server = scene.backend.servers[name]
        with scene.hurting(server, strike, "disk full"):
            ballast = small_disk.fill(server.folder)
            try:
                scene.wait(strike.lasts)
            finally:
                ballast.unlink()
                # It may have ended over it.
                server.start()

    return strike_with


FAULTS = (
    Fault("database-disk", "PostgreSQL's disk is full", _full("postgresql"), (25, 50), (4, 10),
          ("postgresql",), small_disk.lacks, small_disk="postgresql"),
    Fault("broker-disk", "RabbitMQ's disk is full", _full("rabbitmq"), (25, 50), (12, 20),
          ("rabbitmq",), small_disk.lacks, small_disk="rabbitmq"),
)  # fmt: skip
