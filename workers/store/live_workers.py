"""Live workers: which queues they serve, and which definitions their code has.

This decides which worker may claim what, and tells people whether any is there.

A worker's parent process reports every ``REPORT_SECONDS``; calls of agents write nothing here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import add
from typing import Any

from workers.definitions import known
from workers.definitions.known import KnownDefinitions
from workers.runtime.failpoints import around
from workers.runtime.json_text import encode_document
from workers.store.db import dialect

#: How often a worker reports.
REPORT_SECONDS = 2.0
#: A worker that has not reported for this long is frozen, cut off or dead.
SEEN_SECONDS = 8.0
#: Its row is kept until any claims that it may hold are certainly over.
KEPT_SECONDS = 900.0


#: Processes assumed for every queue, whatever workers report; set by tests.
assumed_processes: int | None = None


@around("live_workers.report")
def report(
    run: str,
    name: str,
    queues: Sequence[str],
    processes: int,
    now: datetime | None = None,
    *,
    code: str = "",
    known: str | None = None,
) -> None:
    """Record that a worker is alive, its queues, and its number of processes.

    ``known``, the definitions in its ``code`` as JSON, is written once.
    """
    moment, params = dialect.clock(now)
    as_json = "%s::jsonb" if dialect.is_postgres() else "%s"
    dialect.execute(
        "INSERT INTO workers_worker (run, name, queues, processes, code, known, seen_at)"
        f" VALUES (%s, %s, {as_json}, %s, %s, {as_json}, {moment}) ON CONFLICT (run) DO UPDATE SET"
        " queues = excluded.queues, processes = excluded.processes, seen_at = excluded.seen_at",
        [
            *(run, name[:200], encode_document(sorted(queues)), processes),
            *(code, known, *params),
        ],
    )


@around("live_workers.leave")
def leave(run: str) -> None:
    """Delete the row of a worker that ends: its room is gone at once."""
    dialect.execute("DELETE FROM workers_worker WHERE run = %s", [run])


@around("live_workers.forget_gone")
def forget_gone(now: datetime | None = None) -> int:
    """Delete the rows of workers that vanished long ago; return how many."""
    latest = dialect.read_clock(now) - timedelta(seconds=KEPT_SECONDS)
    return dialect.execute(
        "DELETE FROM workers_worker WHERE seen_at < %s", [dialect.instant_text(latest)]
    )


def seen(column: str, at: str) -> str:
    """Return SQL that is true if a worker reported recently enough to count."""
    return f"{column} > {dialect.earlier(at, SEEN_SECONDS)}"


#: True for every row, through its key's index: a kept plan can read the table in no other way.
EACH = "w.run > ''"


def document(at: str) -> str:
    """Return SQL for the live workers as one value, for ``live_workers.read``."""
    queues = "w.queues" if dialect.is_postgres() else "json(w.queues)"
    rows = dialect.list_of(queues, "w.processes", "w.code")
    return f"(SELECT {rows} FROM workers_worker w WHERE {EACH} AND {seen('w.seen_at', at)})"


def processes(now: datetime | None = None) -> int:
    """Return how many processes all live workers have together."""
    at, params = dialect.clock(now)
    rows = dialect.fetch(
        f"SELECT COALESCE(SUM(w.processes), 0) FROM workers_worker w WHERE {seen('w.seen_at', at)}",
        params,
    )
    return int(rows[0][0])


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
