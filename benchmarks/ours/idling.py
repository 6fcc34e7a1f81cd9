"""What all our processes use with nothing to do."""

import time
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.ours import running

#: Time to start and to come to rest.
REST_SECONDS = 15


def rest(folder: Path, seconds: str) -> dict[str, Any]:
    """Return the percentage of one core, by role and together; servers are not counted."""
    running.prepare()
    with processes.fleet(folder, {}) as fleet:
        running.start(fleet)
        running.start_web(fleet)
        fleet.start("consumer", "manage.py", "consume_submissions")
        time.sleep(REST_SECONDS)
        before, began = fleet.cpu_seconds(), time.perf_counter()
        time.sleep(float(seconds))
        passed = time.perf_counter() - began
        used = {
            role: 100 * (end - before[role]) / passed for role, end in fleet.cpu_seconds().items()
        }
        memory = fleet.memory_mb()
    return {"percent": sum(used.values()), "by_role": used, "seconds": passed, "memory_mb": memory}
