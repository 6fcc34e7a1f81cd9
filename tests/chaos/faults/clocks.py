"""One process whose clock is minutes wrong."""

import signal
from pathlib import Path

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike

SKEWS = (-300, 300)
#: Without what is in it no such process can sleep.
MENDED = Path(__file__).with_name("skewed")


def library() -> str:
    """Return libfaketime's path; nothing without it."""
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(found[-1]) if found else ""


def wrong_by(seconds: int) -> dict[str, str]:
    """Return the environment of a process whose clock is so many seconds ahead."""
    return {
        "LD_PRELOAD": library(),
        "FAKETIME": f"{seconds:+d}s",
        # Durations stay true: no clock of a machine turns its monotonic one back.
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(MENDED),
    }


def skew(scene: Scene, strike: Strike) -> None:
    """Restart one member with a wrong clock, and later with the right one."""
    random = strike.random()
    member = scene.crew.victims(random, "agents", "scheduler", "beat", "consumer", "web")[0]
    seconds = random.choice(SKEWS)
    member.extra = wrong_by(seconds)
    try:
        member.send(signal.SIGKILL)
        with scene.chronicle.during(strike.fault, member.name, f"clock {seconds:+d} s"):
            scene.wait(strike.lasts)
    finally:
        member.extra = {}
        member.send(signal.SIGKILL)


FAULTS = (
    # SQLite takes its instants from the process that asks, so that there the clock is one.
    Fault("clock-skew", "the clock of one process is five minutes wrong", skew, (15, 30), (12, 25),
          needs=("postgresql",),
          lacks=lambda: "" if library() else "clock-skew needs libfaketime (Debian: faketime)"),
)  # fmt: skip
