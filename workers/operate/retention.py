"""Prune old rows periodically, each kind after its own time.

An app registers its own in a module ``retention`` (``register``); the engine's are here.
All go in small transactions, and a round ends when its time is up: the next one goes on.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Protocol
from uuid import uuid4

from workers.definitions import discovery
from workers.exceptions import AWAY
from workers.runtime.soft_limit import SOFT_LIMIT
from workers.runtime.worker_identity import me
from workers.store import leases, old_processes, old_rows

log = logging.getLogger(__name__)

#: How long a round may take, and how long after its last transaction it keeps other rounds out.
ROUND_SECONDS = 5.0
LEASE_SECONDS = 20.0
#: The most rows, or processes, in one transaction.
BATCH = 200


class Rows(Protocol):
    """Rows that go once they are old: of a table (``OldRows``), or what an app says itself."""

    def count(self, now: datetime | None = None) -> int:
        """Count those that may go."""

    def prune(self, limit: int, now: datetime | None = None) -> Iterator[int]:
        """Delete them, ``limit`` a transaction; yield how many each time."""


@dataclass(frozen=True, slots=True)
class Pruner:
    """One kind of pruning: its name, its description, and its rows in the order they go."""

    name: str
    says: str
    rows: tuple[Rows, ...]


class PruneResult(dict[str, int]):
    """How many rows a round pruned, by name."""

    #: The time was up before all pruners were done.
    is_cut_off = False


_pruners: dict[str, Pruner] = {}


def register(name: str, says: str, *rows: Rows) -> None:
    """Register what goes once it is old; the same name replaces it."""
    _pruners[name] = Pruner(name, says, rows)


def pruners() -> list[Pruner]:
    """Return the pruners of every installed app."""
    discovery.import_modules("retention")
    return [*_pruners.values(), _PROCESSES]


def prune(
    names: Collection[str] | None = None,
    *,
    seconds: float | None = ROUND_SECONDS,
    batch: int = BATCH,
    progress: Callable[[str, int], None] = lambda name, count: None,
    now: datetime | None = None,
) -> PruneResult | None:
    """Prune until nothing is left or the time is up; return how many rows, by name.

    None: another process is pruning, and nothing was done; two at once would be harmless, but
    useless.  ``progress`` is called after every transaction.  A pruner that raises holds up no
    other; the first such exception is raised after the last.
    """
    failures: list[Exception] = []
    end = None if seconds is None else time.monotonic() + seconds
    with leases.held(leases.PRUNE, f"{me('prune')}:{uuid4().hex[:8]}", LEASE_SECONDS) as lease:
        if not lease:
            return None
        result = PruneResult()
        for pruner in pruners():
            if names is not None and pruner.name not in names:
                continue
            result[pruner.name] = 0
            try:
                for count in chain.from_iterable(rows.prune(batch, now) for rows in pruner.rows):
                    result[pruner.name] += count
                    progress(pruner.name, result[pruner.name])
                    if not lease.renew() or (end is not None and time.monotonic() >= end):
                        result.is_cut_off = True
                        break
            except (*AWAY, SOFT_LIMIT):
                raise
            except Exception as error:
                log.exception("pruner_failed", extra={"pruner": pruner.name})
                failures.append(error)
        if failures:
            raise failures[0]
    if any(result.values()):
        log.info("pruned", extra={"reason": ", ".join(f"{n} {k}" for k, n in result.items() if n)})
    return result


register(
    "journals",
    "processes that ended long ago lose their journal and who was told",
    old_processes.JOURNALS,
)
register(
    "flow journal", "journal rows of holds, windows, rates and breakers", old_rows.FLOW_JOURNAL
)
register("alerts", "alerts acknowledged long ago", old_rows.ALERTS)
register("undo requests", "requests for approval that were made long ago", old_rows.UNDO_REQUESTS)
register(
    "webhooks",
    "ids of webhooks taken long ago, which are not sent again any more",
    old_rows.WEBHOOKS,
)
#: The last: by then applications have deleted their rows of a process, and what protects it.
_PROCESSES = Pruner(
    "processes",
    "processes that ended long ago, with their steps",
    (old_processes.PROCESSES,),
)
