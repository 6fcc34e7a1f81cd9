"""`python -m benchmarks.peers.celery_chain filled 600`: the raw chain, measured."""

from collections.abc import Callable

from benchmarks import child
from benchmarks.peers.celery_running import CelerySystem
from benchmarks.regimes import runs


class Chain(CelerySystem):
    def prepare(self) -> None:
        """It has no tables, and the workers make the queue."""

    def submitter(self) -> Callable[[int], None]:
        from benchmarks.peers.chain_app import submit

        return submit


child.ensure_folder()
SYSTEM = Chain("benchmarks.peers.chain_app")

if __name__ == "__main__":
    runs.serve(SYSTEM, "benchmarks.peers.celery_chain")
