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
        scene.system.set_faults(service, **{**scene.system.usual, **faults})
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


def lie(scene: Scene, strike: Strike) -> None:
    """Have every service do what it is asked and deny it; with a latency, so that what people do
    meets calls under way, and an undo may overtake the call that it undoes.
    """
    random = strike.random()
    faults = {
        "latency_seconds": random.choice((0.0, 0.5, 1.5, 3.0)),
        "lie_rate": 0.25,
        "drop_after_effect_rate": 0.05,
        "garbage_rate": 0.05,
        "seed": random.randrange(1000),
    }
    with scene.chronicle.during(strike.fault, "sandbox", "every service lies"):
        try:
            for service in SERVICES:
                with suppress(OSError):
                    scene.system.set_faults(service, **{**scene.system.usual, **faults})
            scene.wait(strike.lasts)
        finally:
            for service in SERVICES:
                heal(scene, service)


def slow(scene: Scene, strike: Strike) -> None:
    latency = scene.system.usual.get("latency_seconds", 0.0) + 1.0
    _switch(scene, strike, {"latency_seconds": latency, "hang_rate": 0.1, "seed": 7})


def down(scene: Scene, strike: Strike) -> None:
    _switch(scene, strike, {"down": True})


def heal(scene: Scene, service: str) -> None:
    """Make a service what it usually is, waiting for one that was killed meanwhile."""
    for _ in range(60):
        with suppress(OSError):
            scene.system.set_faults(service, **scene.system.usual)
            return
        time.sleep(0.5)


FAULTS = (
    Fault("flaky", "a service fails, drops answers after their effect, answers garbage",
          flaky, (5, 10), (8, 20)),
    Fault("lie", "every service does what it is asked and answers that it did not",
          lie, (10, 20), (5, 10)),
    Fault("slow", "a service is slow, and hangs at times", slow, (15, 30), (5, 12)),
    Fault("down", "a service is down", down, (20, 40), (4, 10)),
)  # fmt: skip
