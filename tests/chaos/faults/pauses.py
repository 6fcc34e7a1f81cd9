"""Processes that stand still or starve and go on later, and some that are stopped politely."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike
from tests.chaos.system import STEP_TIMEOUT_SECONDS

#: Beyond complete-by, its grace and a sweep: somebody else has the step by then.
BEYOND_DEADLINE = (STEP_TIMEOUT_SECONDS + 3.0, STEP_TIMEOUT_SECONDS + 8.0)
BEYOND_LEASE = (8.0, 14.0)
#: Processes that use up the CPU, for each core.
BUSY = 8


def freeze_agents(scene: Scene, strike: Strike) -> None:
    _freeze(scene, strike, "agents")


def freeze_child(scene: Scene, strike: Strike) -> None:
    """Stop one process of a pool, while its parent and the others go on."""
    random = strike.random()
    for member in scene.crew.victims(random, "agents"):
        if not (children := member.family()[1:]):
            continue
        pid = random.choice(children)
        # It may end before, and meanwhile: a frozen process can be killed.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                says = f"SIGSTOP of child {pid} of {member.name}"
                with scene.chronicle.during(strike.fault, member.name, says):
                    scene.wait(strike.lasts)
            finally:
                os.kill(pid, signal.SIGCONT)
        return


def freeze_scheduler(scene: Scene, strike: Strike) -> None:
    _freeze(scene, strike, "scheduler")


def _freeze(scene: Scene, strike: Strike, kind: str) -> None:
    member = scene.crew.victims(strike.random(), kind)[0]
    if not member.freeze():
        return
    try:
        with scene.chronicle.during(strike.fault, member.name, f"SIGSTOP of {member.name}"):
            scene.wait(strike.lasts)
    finally:
        member.thaw()


def starve(scene: Scene, strike: Strike) -> None:
    """Leave the system little of the CPU."""
    words, count = [sys.executable, "-c", "while True: pass"], BUSY * (os.cpu_count() or 1)
    with scene.chronicle.during(strike.fault, "machine", f"{count} processes use up the CPU"):
        busy = [subprocess.Popen(words) for _ in range(count)]
        try:
            scene.wait(strike.lasts)
        finally:
            for process in busy:
                process.kill()
                process.wait()


def roll(scene: Scene, strike: Strike) -> None:
    """Stop every worker in turn, as a deployment does; the next when the last is back."""
    for member in scene.crew.of_kind("scheduler", "agents"):
        if scene.ending.is_set():
            return
        starts = member.starts
        if not member.send(signal.SIGTERM):
            continue
        with scene.chronicle.during(strike.fault, member.name, f"SIGTERM to {member.name}"):
            while member.starts == starts and not scene.ending.is_set():
                scene.wait(0.2)


FAULTS = (
    Fault("freeze", "SIGSTOP of the agents beyond their deadlines, then SIGCONT",
          freeze_agents, (8, 16), BEYOND_DEADLINE),
    Fault("freeze-child", "SIGSTOP of one child of the agents beyond its deadlines, then SIGCONT",
          freeze_child, (8, 16), BEYOND_DEADLINE),
    Fault("freeze-scheduler", "SIGSTOP of a scheduler and supervisor past its lease, then SIGCONT",
          freeze_scheduler, (12, 24), BEYOND_LEASE),
    Fault("starve", "other processes use up the CPU for a while", starve, (12, 24), (8, 16)),
    Fault("rolling", "SIGTERM to every worker in turn, as a deployment does", roll, (20, 40)),
)  # fmt: skip
