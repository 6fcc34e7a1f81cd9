"""The remote services misbehave, as the sandbox's switches let them."""

import time
from contextlib import suppress
from typing import Any

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike

SERVICES = ("payment", "shipping", "courier", "billing")


def _switch(scene: Scene, strike: Strike, faults: dict[str, Any]) -> None:
    service = strike.random().choice(SERVICES)
    try:
        scene.system.set_faults(service, **faults)
    except OSError:
        return
    try:
        with scene.chronicle.during(strike.fault, "sandbox", f"{service} misbehaves"):
            scene.wait(strike.lasts)
    finally:
        heal(scene, service)


def flaky(scene: Scene, strike: Strike) -> None:
    random = strike.random()
    _switch(scene, strike, {
        "error_rate": 0.15,
        "error_status": random.choice((500, 502, 503, 429)),
        "drop_after_effect_rate": 0.1,
        "garbage_rate": 0.05,
        "duplicate_rate": 0.1,
        "seed": random.randrange(1000),
    })  # fmt: skip


def slow(scene: Scene, strike: Strike) -> None:
    _switch(scene, strike, {"latency_seconds": 1.0, "hang_rate": 0.1, "seed": 7})


def down(scene: Scene, strike: Strike) -> None:
    _switch(scene, strike, {"down": True})


def heal(scene: Scene, service: str) -> None:
    """Clear a service's faults, waiting for one that was killed meanwhile."""
    for _ in range(60):
        with suppress(OSError):
            scene.system.set_faults(service)
            return
        time.sleep(0.5)


FAULTS = (
    Fault("flaky", "a service fails, drops answers after their effect, answers garbage",
          flaky, (5, 10), (8, 20)),
    Fault("slow", "a service is slow, and hangs at times", slow, (15, 30), (5, 12)),
    Fault("down", "a service is down", down, (20, 40), (4, 10)),
)  # fmt: skip
