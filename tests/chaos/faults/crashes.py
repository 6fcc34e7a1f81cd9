"""kill -9: of workers, of their pool's children, of web, consumer and Beat."""

import os
import signal
from contextlib import suppress

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike

WORKERS = ("agents", "scheduler")


def kill_worker(scene: Scene, strike: Strike) -> None:
    _kill(scene, strike, *WORKERS)


def kill_child(scene: Scene, strike: Strike) -> None:
    random = strike.random()
    for member in scene.crew.victims(random, *WORKERS):
        children = member.family()[1:]
        if not children:
            continue
        pid = random.choice(children)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            scene.chronicle.strike(strike.fault, member.name, f"child {pid} of {member.name}")
            return


def kill_door(scene: Scene, strike: Strike) -> None:
    _kill(scene, strike, "web", "consumer")


def kill_sandbox(scene: Scene, strike: Strike) -> None:
    _kill(scene, strike, "sandbox")


def kill_beat(scene: Scene, strike: Strike) -> None:
    """Kill Beat, and start it again only when the fault is over."""
    (beat,) = scene.crew.of_kind("beat")
    beat.is_held = True
    try:
        if beat.send(signal.SIGKILL):
            with scene.chronicle.during(strike.fault, beat.name, "Beat is dead"):
                scene.wait(strike.lasts)
    finally:
        beat.is_held = False


def _kill(scene: Scene, strike: Strike, *kinds: str) -> None:
    for member in scene.crew.victims(strike.random(), *kinds):
        if member.send(signal.SIGKILL):
            scene.chronicle.strike(strike.fault, member.name, f"kill -9 of {member.name}")
            return


FAULTS = (
    Fault("kill", "kill -9 of a worker, its pool with it", kill_worker, (5, 12)),
    Fault("kill-child", "kill -9 of one child of a worker's pool", kill_child, (3, 8)),
    Fault("kill-door", "kill -9 of the web server or the submissions consumer", kill_door, (6, 15)),
    Fault("kill-sandbox", "kill -9 of the remote services", kill_sandbox, (15, 30)),
    Fault("kill-beat", "kill -9 of Beat, which stays dead for a while", kill_beat,
          (20, 40), (8, 20)),
)  # fmt: skip
