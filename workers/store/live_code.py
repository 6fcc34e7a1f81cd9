"""The definitions in the code of live workers, as reported: what each may claim and call."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from workers.definitions import known
from workers.definitions.known import KnownDefinitions
from workers.store.db import dialect
from workers.store.live_workers import EACH, document, seen


@dataclass(frozen=True, slots=True)
class LiveWorkers:
    """The live workers, each with its queues, its number of processes and its code."""

    rows: Sequence[tuple[Sequence[str], int, str]] = ()

    def serving(self, queue: str) -> int:
        """Return how many processes serve a queue."""
        return sum(count for queues, count, _ in self.rows if queue in queues)

    def calling(self, agent: str, queue: str) -> int:
        """Return how many processes serve an agent's queue and have the agent in their code."""
        return sum(
            count for queues, count, code in self.rows if queue in queues and _can_call(code, agent)
        )


def read(value: Any) -> LiveWorkers:
    """Return the live workers, from the value of ``document``."""
    return LiveWorkers(dialect.document(value) or ())


def alive(now: datetime | None = None) -> LiveWorkers:
    """Return the live workers."""
    at, params = dialect.clock(now)
    return read(dialect.fetch(f"SELECT {document(at)}", params)[0][0])


#: The definitions of other workers' code, by code; they never change.
_of_codes: dict[str, KnownDefinitions] = {}


def _can_call(code: str, agent: str) -> bool:
    """Say whether a code has an agent; code that reports nothing counts as having all."""
    if not code or code == known.own_code():
        return True
    if code not in _of_codes:
        rows = dialect.fetch(
            "SELECT w.known FROM workers_worker w WHERE w.code = %s LIMIT 1", [code]
        )
        if not rows:
            # The worker has just left, with its processes.
            return False
        _of_codes[code] = KnownDefinitions.of_document(dialect.document(rows[0][0]))
    return agent in _of_codes[code].agents


@dataclass(frozen=True, slots=True)
class KnownToLive:
    """The definitions in the code of any live worker."""

    known: KnownDefinitions
    #: Whether all workers report theirs; earlier releases of the engine do not.
    is_whole: bool


def known_to_live(now: datetime | None = None) -> KnownToLive:
    """Return the definitions that the live workers report, combined."""
    at, params = dialect.clock(now)
    rows = dialect.fetch(
        f"SELECT w.code, w.known FROM workers_worker w WHERE {EACH} AND {seen('w.seen_at', at)}",
        params,
    )
    by_code = {code: dialect.document(definitions) for code, definitions in rows if code}
    total = reduce(add, map(KnownDefinitions.of_document, by_code.values()), KnownDefinitions())
    return KnownToLive(total, all(code for code, _ in rows))


def known_elsewhere(now: datetime | None = None) -> KnownDefinitions:
    """Return the definitions that other live workers have and this code does not."""
    return known_to_live(now).known - known.own()
