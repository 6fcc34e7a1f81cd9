"""Too many of a kind: a second Beat, and workers of another version beside ours."""

import re
import shutil
from pathlib import Path

from tests.chaos.faults.fault import Fault, Scene
from tests.chaos.schedule import Strike
from tests.chaos.system import AGENT_QUEUES, ROOT, SCHEDULER_QUEUES, celery

PACKAGES = ("sasproject", "orders", "workers")
#: A version nobody submits: the copy does not know the one that everybody does.
ELSEWHERE = "version=9999"


def second_beat(scene: Scene, strike: Strike) -> None:
    name = "second-beat"
    scene.system.add(name, *celery("beat", "--pidfile=", "-l", "INFO"))
    try:
        with scene.chronicle.during(strike.fault, name, "two Beats"):
            scene.wait(strike.lasts)
    finally:
        scene.crew.dismiss(name)


def other_version(scene: Scene, strike: Strike) -> None:
    """Run a worker from a copy of the code that does not know the workflow's version."""
    copy = scene.system.folder / "other-version"
    if not copy.exists():
        copy_code(copy)
    name = "other-version"
    queues = f"{SCHEDULER_QUEUES},{AGENT_QUEUES}"
    scene.system.add_worker(name, queues, concurrency=2, cwd=copy)
    try:
        with scene.chronicle.during(strike.fault, name, "a worker of other code"):
            scene.wait(strike.lasts)
    finally:
        scene.crew.dismiss(name)


def copy_code(target: Path) -> None:
    """Copy the tree and give its fulfilment another version; raise where there is none."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, target / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "manage.py", target)
    file = target / "orders" / "workflows" / "fulfilment.py"
    text, count = re.subn(r"\bversion=\d+", ELSEWHERE, file.read_text())
    if count != 1:
        raise RuntimeError(f"{file} names {count} versions; the copy must differ in exactly one")
    file.write_text(text)


FAULTS = (
    Fault("two-beats", "a second Beat beside the first", second_beat, (20, 40), (10, 20)),
    Fault("two-versions", "a worker of code that does not know the orders' workflow version",
          other_version, (15, 30), (12, 25)),
)  # fmt: skip
