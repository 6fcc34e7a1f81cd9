"""Who is measured, in which regimes, and with how many orders.

The slower, the fewer: every run takes seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

FILLED, SUSTAINED, STEADY, IDLE, HTTP, REDIS, SLOW, OVERLOAD = (
    "filled", "sustained", "steady", "idle", "http", "redis", "slow", "overload",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Contender:
    title: str
    module: str
    #: Share of our orders that it gets, and how many at least.
    share: float
    keeps: str
    regimes: tuple[str, ...] = (FILLED,)
    environment: Mapping[str, str] = field(default_factory=dict)

    def orders(self, ours: int) -> int:
        return min(ours, max(40, round(ours * self.share)))


_CHAIN, _NAIVE = "benchmarks.peers.celery_chain", "benchmarks.peers.naive"
_DBOS = "benchmarks.peers.dbos_queue"

CONTENDERS = {
    "ours": Contender(
        "ours", "benchmarks.ours", 1, "everything",
        (FILLED, SUSTAINED, STEADY, IDLE, HTTP, REDIS, SLOW, OVERLOAD),
    ),
    "ours_plain": Contender(
        "ours, one plain `celery worker`", "benchmarks.ours", 1, "everything",
        (FILLED, SUSTAINED), {"BENCH_PLAIN": "1"},
    ),
    "chain_solo": Contender(
        "Celery chain, two solo workers", _CHAIN, 1, "nothing",
        (FILLED, SUSTAINED, STEADY, IDLE, REDIS), {"BENCH_POOL": "solo"},
    ),
    "chain_threads": Contender(
        "Celery chain, two workers with threads", _CHAIN, 1, "nothing",
        (FILLED, HTTP, SLOW, OVERLOAD), {"BENCH_POOL": "threads"},
    ),
    "celery_chain": Contender(
        "Celery chain, prefork, one message ahead", _CHAIN, 0.2, "nothing", (FILLED, SLOW),
    ),
    "naive_threads": Contender(
        "hand-written chain, threads, connections kept", _NAIVE, 0.1, "a status column",
        (FILLED, IDLE), {"BENCH_KEEP": "1", "BENCH_POOL": "threads"},
    ),
    "naive": Contender(
        "hand-written chain, prefork, connection kept", _NAIVE, 0.1, "a status column",
        (FILLED, REDIS), {"BENCH_KEEP": "1"},
    ),
    "naive_as_installed": Contender(
        "hand-written chain, as installed", _NAIVE, 0.025, "a status column",
    ),
    "dbos": Contender(
        "DBOS, through its queue", _DBOS, 0.1, "everything",
        (FILLED, SUSTAINED, STEADY, IDLE, HTTP, SLOW, OVERLOAD),
    ),
    "dbos_direct": Contender(
        "DBOS, called directly", _DBOS, 1, "everything", (IDLE,), {"BENCH_DIRECT": "1"},
    ),
    "restate": Contender(
        "Restate", "benchmarks.peers.restate_steps", 1, "everything",
        (SUSTAINED, STEADY, IDLE, SLOW, OVERLOAD),
    ),
    "absurd": Contender(
        "Absurd", "benchmarks.peers.absurd_tasks", 0.1, "everything", (FILLED, SUSTAINED, IDLE),
    ),
    "pgqueuer": Contender(
        "PgQueuer", "benchmarks.peers.pgqueuer_jobs", 0.1, "each job, no workflow", (FILLED, IDLE),
    ),
    "procrastinate": Contender(
        "Procrastinate", "benchmarks.peers.procrastinate_jobs", 0.1, "each job, no workflow",
        (FILLED, SLOW),
    ),
}  # fmt: skip
#: Whom ours is compared with.
PEERS = tuple(name for name in CONTENDERS if name != "ours")


def of(regime: str) -> dict[str, Contender]:
    """Return who is measured in a regime, ours first."""
    return {name: one for name, one in CONTENDERS.items() if regime in one.regimes}
