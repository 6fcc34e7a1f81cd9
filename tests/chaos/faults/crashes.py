"""kill -9: of workers, of their pool's children, of web, consumer and Beat; of all at once."""

import os
import signal
from contextlib import suppress

from tests.chaos.chronicle import Chronicle
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


def crash_all(scene: Scene, strike: Strike) -> None:
    """Kill everybody who may write: where the database lives in them, that is its crash.

    The remote services are not the system's.  What the kernel has been given stays, as it does
    when a server's program crashes; this is no power cut.  It does not strike before something
    has moved since the last time: to kill what is still starting, again and again, hurts
    nothing.
    """
    if not has_moved_since(strike.fault, scene.chronicle):
        return
    everybody = [member for member in scene.crew.members.values() if member.kind != "sandbox"]
    killed = [one for one in (*scene.doors.values(), *everybody) if one.crash()]
    if killed:
        scene.chronicle.strike(strike.fault, "system", f"kill -9 of {len(killed)} at once")


def has_moved_since(fault: str, chronicle: Chronicle) -> bool:
    """Say whether an order was accepted or moved on since a fault last struck, or it never did."""
    struck = [mark.began for mark in list(chronicle.marks) if mark.fault == fault]
    if not struck:
        return True
    seen = [
        (sample.accepted, sample.states)
        for sample in list(chronicle.samples)
        if sample.at > struck[-1] and sample.states is not None
    ]
    return any(one != seen[0] for one in seen)


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
    Fault("crash-all", "every process of the system ends at once, in the middle of whatever it "
          "writes", crash_all, (25, 50)),
)  # fmt: skip
