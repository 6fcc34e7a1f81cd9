"""`python -m benchmarks.peers.celery_chain filled 600`: the raw chain, measured."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import child, processes
from benchmarks.exceptions import Wrong
from benchmarks.peers.celery_running import CelerySystem
from benchmarks.regimes import runs


class Chain(CelerySystem):
    def prepare(self) -> None:
        """It has no tables, and the workers make the queue."""

    def submitter(self) -> Callable[[int], None]:
        from benchmarks.peers.chain_app import submit

        return submit


def listed(folder: Path, count: str) -> dict[str, Any]:
    """Have a chord of so many tasks end; count from its submission, for nothing keeps its begin."""
    from benchmarks.peers.chain_app import submit_list

    with processes.fleet(folder, {}) as fleet:
        SYSTEM.start(fleet)
        began = time.time()
        done = submit_list(int(count))
        seconds = time.time() - began
    if done != int(count):
        raise Wrong(f"the chord counted {done} of {count}")
    return {"per_second": int(count) / seconds, "seconds": seconds}


child.ensure_folder()
SYSTEM = Chain("benchmarks.peers.chain_app")

if __name__ == "__main__":
    runs.serve(SYSTEM, "benchmarks.peers.celery_chain", listed=listed)
