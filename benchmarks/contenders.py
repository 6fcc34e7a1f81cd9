"""Who is measured: the module that does it, and how many orders it gets.

The slower, the fewer: every run takes seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.shape import PROCESSES


@dataclass(frozen=True, slots=True)
class Contender:
    title: str
    module: str
    #: Share of our orders that it gets, and how many at least.
    share: float
    keeps: str
    environment: Mapping[str, str] = field(default_factory=dict)

    def orders(self, ours: int) -> int:
        return min(ours, max(40, round(ours * self.share)))


CONTENDERS = {
    "ours": Contender(
        # What the settings' reference tells whoever runs two processes.
        "ours",
        "benchmarks.ours",
        1,
        "everything",
        {"SAS_AGENT_SLOTS": str(PROCESSES)},
    ),
    # What its second scheduler process brings.
    "ours_one_scheduler": Contender(
        "ours, one scheduler process",
        "benchmarks.ours",
        1,
        "everything",
        {"SAS_AGENT_SLOTS": str(PROCESSES), "BENCH_SCHEDULERS": "1"},
    ),
    "celery_chain": Contender("Celery chain", "benchmarks.peers.celery_chain", 0.2, "nothing"),
    "naive": Contender(
        "hand-written chain, connection kept",
        "benchmarks.peers.naive",
        0.1,
        "a status column",
        {"BENCH_KEEP": "1"},
    ),
    "naive_as_installed": Contender(
        "hand-written chain, as installed",
        "benchmarks.peers.naive",
        0.025,
        "a status column",
    ),
    "dbos": Contender("DBOS", "benchmarks.peers.dbos_queue", 0.06, "everything"),
    "procrastinate": Contender(
        "Procrastinate", "benchmarks.peers.procrastinate_jobs", 0.1, "each job, no workflow"
    ),
}
#: Whom ours is compared with.
PEERS = tuple(name for name in CONTENDERS if name != "ours")
