"""Prune old rows periodically, each kind after its own time.

An app registers its own pruners in a module ``retention`` (``register``); the engine's are here.
All prune in small transactions, and a round ends when its time is up: the next one goes on.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import uuid4

from workers.definitions import discovery
from workers.exceptions import AWAY
from workers.runtime.soft_limit import SOFT_LIMIT
from workers.runtime.worker_identity import me
from workers.store import leases, old_rows, prune_journals, prune_processes
from workers.store.old_rows import OldRows

log = logging.getLogger(__name__)

#: How long a round may take, and how long after its last transaction it keeps other rounds out.
ROUND_SECONDS = 5.0
LEASE_SECONDS = 20.0
#: The most rows, or processes, in one transaction.
BATCH = 200


@dataclass(frozen=True, slots=True)
class Pruner:
    """One kind of pruning: its name, its description, how many rows may go, and how to prune.

    ``prune`` yields after each transaction how many it pruned.
    """

    name: str
    says: str
    count: Callable[[datetime | None], int] | None
    prune: Callable[[int, datetime | None], Iterator[int]]


class PruneResult(dict[str, int]):
    """How many rows a round pruned, by name."""

    #: The time was up before all pruners were done.
    is_cut_off = False


_pruners: dict[str, Pruner] = {}


def register(pruner: Pruner) -> None:
    """Register a pruner; the same name replaces it."""
    _pruners[pruner.name] = pruner


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
    with leases.held(
        prune_journals.JOURNALS, f"{me('prune')}:{uuid4().hex[:8]}", LEASE_SECONDS
    ) as lease:
        if not lease:
            return None
        result = PruneResult()
        for pruner in pruners():
            if names is not None and pruner.name not in names:
                continue
            result[pruner.name] = 0
            try:
                for count in pruner.prune(batch, now):
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


def of_tables(name: str, says: str, *tables: OldRows) -> Pruner:
    """Return a pruner of the old rows of some tables, one table after another."""
    return Pruner(
        name,
        says,
        lambda now: sum(old_rows.count(rows, now) for rows in tables),
        lambda limit, now: chain.from_iterable(old_rows.prune(rows, limit, now) for rows in tables),
    )


for _pruner in (
    Pruner(
        "journals",
        "processes that ended long ago lose their journal and who was told",
        prune_journals.prunable,
        prune_journals.prune_journals,
    ),
    of_tables(
        "flow journal", "journal rows of holds, windows, rates and breakers", old_rows.FLOW_JOURNAL
    ),
    of_tables("alerts", "alerts acknowledged long ago", old_rows.ALERTS),
    of_tables(
        "undo requests", "requests for approval that were made long ago", old_rows.UNDO_REQUESTS
    ),
    of_tables(
        "webhooks",
        "ids of webhooks taken long ago, which are not sent again any more",
        old_rows.WEBHOOKS,
    ),
    Pruner("orphans", "journal rows whose process is gone", None, prune_journals.prune_orphans),
):
    register(_pruner)

#: The last: by then applications have deleted their rows of a process, and what protects it.
_PROCESSES = Pruner(
    "processes",
    "processes that ended long ago, with their steps",
    prune_processes.prunable,
    prune_processes.prune_processes,
)
