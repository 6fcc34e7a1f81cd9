"""Sinks: who is told about a process, and up to which row.

A sink is due while it is open, has journal rows beyond its cursor, and has no claim and no backoff
on it.  Code that appends such rows announces them here, in the same transaction and under the
process's lock, so that no news is ever lost.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from workers.models import Sink
from workers.rules.rows import NewSink
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import around, durable
from workers.runtime.storable_text import storable_value
from workers.store import alerts, journal
from workers.store.db import bulk_update, dialect

#: SQL that is true if the process row ``t`` has a sink.  With EXISTS PostgreSQL would hash all
#: sinks; LIMIT makes it use the index.
IS_TOLD = "(SELECT 1 FROM workers_sink k WHERE k.process_id = t.id LIMIT 1) IS NOT NULL"

_DUE = "s.state = 'open' AND s.last > s.cursor AND s.next_try_at <= {now}"

#: SQL that is true if any sink is due.  ORDER BY makes PostgreSQL use the index: by its statistics
#: it may prefer to scan all sinks.
HAS_DUE = (
    f"((SELECT s.id FROM workers_sink s WHERE {_DUE}"
    " ORDER BY s.next_try_at, s.id LIMIT 1) IS NOT NULL)"
)


#: Owner and address.  One address of two owners is two places, so that neither slows down the
#: other.
Place = tuple[str, str]
_PLACE = "s.owner || ' ' || s.address"
#: Owner and server: a webhook's address up to its path; a queue's whole address.
Server = tuple[str, str]


@dataclass(slots=True)
class ClaimedSink:
    """A sink claimed for one sender until ``until``."""

    id: int
    process_id: int
    kind: str
    address: str
    owner: str
    correlation_id: str
    cursor: int
    last: int
    tries: int
    until: datetime

    @property
    def place(self) -> Place:
        return self.owner, self.address

    @property
    def server(self) -> Server:
        return self.owner, "/".join(self.address.split("/", 3)[:3])


@dataclass(frozen=True, slots=True)
class SinkProgress:
    """The last row that the holder of a sink delivered."""

    sink: ClaimedSink
    sequence: int
    #: Whether that was the process's last row.
    is_final: bool = False
    #: Whether the claim ends with this.
    is_over: bool = True


_READ = [field.name for field in fields(ClaimedSink) if field.name != "until"]
_SELECT = ", ".join(f"s.{name}" for name in _READ)


def make(sinks: Sequence[tuple[int, NewSink]], at: datetime) -> None:
    """Insert the sinks of new processes, in their transaction; their first rows are due."""
    if not sinks:
        return
    Sink.objects.bulk_create(
        [
            Sink(
                process_id=process_id,
                kind=sink.kind,
                address=sink.address,
                owner=sink.owner,
                correlation_id=sink.correlation_id,
                last=1,
                next_try_at=at,
            )
            for process_id, sink in sinks
        ]
    )


def lock(process_ids: Sequence[int]) -> None:
    """Lock the sinks of processes in primary-key order, as whoever writes several has to."""
    if dialect.is_postgres():
        dialect.send(
            f"SELECT k.id FROM workers_sink k WHERE {dialect.among('k.process_id')} ORDER BY k.id "
            + dialect.lock_rows("k"),
            [dialect.id_list(process_ids)],
        )


def announce(processes: Sequence[LockedProcess]) -> None:
    """Announce new public rows of processes, in the transaction that holds their locks."""
    if not processes:
        return
    rows = [{"id": locked.process.id, "last": locked.process.sequence} for locked in processes]
    # The relay, too, locks them in this order: the set below is one of processes.
    lock([row["id"] for row in rows])
    dialect.execute(
        "UPDATE workers_sink AS s SET last = v.last"
        f" FROM {dialect.rows_as('v', {'id': 'id', 'last': 'int'})}"
        f" WHERE {dialect.looked_up('s.process_id', 'v.id')}",
        [dialect.encode(rows)],
    )
    # A sink that was told the end is told later rows, too: a step done again, a late success.
    if again := [locked.process.id for locked in processes if locked.had_ended]:
        dialect.execute(
            "UPDATE workers_sink SET state = 'open' WHERE state = 'ended'"
            f" AND {dialect.among('process_id')}",
            [dialect.id_list(again)],
        )


def claim(
    kind: str,
    limit: int,
    seconds: float,
    *,
    not_of: Collection[str] = (),
    not_at: Collection[Place] = (),
    not_on: Collection[Server] = (),
    now: datetime | None = None,
) -> list[ClaimedSink]:
    """Claim due sinks of one kind for some seconds, those that have waited longest first.

    Skips sinks of the owners in ``not_of``, at the places in ``not_at`` and on the servers in
    ``not_on``, and those that another relay holds.
    """
    at = dialect.read_clock(now)
    until = at + timedelta(seconds=seconds)
    left_alone = dialect.rows_as("v", {"owner": "text", "server": "text"})
    with durable("sinks.claim"):
        rows = dialect.fetch(
            f"SELECT {_SELECT} FROM workers_sink s WHERE {_DUE.format(now='%s')} AND s.kind = %s"
            f" AND NOT ({dialect.among('s.owner')}) AND NOT ({dialect.among(_PLACE)})"
            f" AND NOT EXISTS (SELECT 1 FROM {left_alone} WHERE v.owner = s.owner"
            " AND substr(s.address || '/', 1, length(v.server) + 1) = v.server || '/')"
            f" ORDER BY s.next_try_at, s.id LIMIT %s {dialect.lock_rows('s', skip_locked=True)}",
            [
                dialect.instant_text(at),
                kind,
                dialect.id_list(sorted(not_of)),
                dialect.id_list(sorted(" ".join(place) for place in not_at)),
                dialect.encode([{"owner": owner, "server": at} for owner, at in sorted(not_on)]),
                limit,
            ],
        )
        claimed = [ClaimedSink(**dict(zip(_READ, row, strict=True)), until=until) for row in rows]
        dialect.execute(
            f"UPDATE workers_sink SET next_try_at = %s WHERE {dialect.among('id')}",
            [dialect.instant_text(until), dialect.id_list([sink.id for sink in claimed])],
        )
    return claimed


@around("sinks.told")
def told(progress: Sequence[SinkProgress], now: datetime | None = None) -> set[int]:
    """Advance the cursors of sinks; return the ids of those that moved.

    If a sink's cursor is not as claimed, another relay has told it meanwhile: it is left alone, and
    missing in the answer, so that its caller stops.
    """
    if not progress:
        return set()
    at = dialect.read_clock(now)
    rows = [
        {
            "id": item.sink.id,
            "was": item.sink.cursor,
            "cursor": item.sequence,
            "until": item.sink.until,
            "is_final": item.is_final,
            "is_over": item.is_over,
            "at": at,
        }
        for item in progress
    ]
    columns = {"id": "id", "was": "int", "cursor": "int", "until": "instant"}
    return bulk_update.update(
        "workers_sink",
        columns | {"is_final": "bool", "is_over": "bool", "at": "instant"},
        rows,
        "cursor = v.cursor, tries = 0, problem = NULL, last_error = '',"
        " state = CASE WHEN v.is_final AND t.last <= v.cursor THEN 'ended' ELSE t.state END,"
        " next_try_at = CASE WHEN v.is_over AND t.next_try_at = v.until THEN v.at"
        " ELSE t.next_try_at END",
        "t.cursor = v.was AND t.state = 'open'",
    )


def put_off(sink: ClaimedSink, seconds: float, now: datetime | None = None) -> None:
    """Release a claim without counting a try: the sink is due again after ``seconds``."""
    _end_claim(sink, "next_try_at = %s", [_in(seconds, now)])


def failed(
    sink: ClaimedSink, seconds: float, problem: Mapping[str, Any], now: datetime | None = None
) -> None:
    """Count a failed try; the sink is due again after ``seconds``.

    ``problem`` is a code of ``delivery_problems`` with its parameters.
    """
    assign, params = _tried(problem)
    _end_claim(sink, f"next_try_at = %s, {assign}", [_in(seconds, now), *params])


def give_up(sink: ClaimedSink, problem: Mapping[str, Any]) -> bool:
    """Stop sending to a sink.  False: another relay told or claimed it meanwhile."""
    assign, params = _tried(problem)
    return _end_claim(sink, f"state = 'undeliverable', {assign}", params)


def _tried(problem: Mapping[str, Any]) -> tuple[str, list[Any]]:
    value, params = dialect.typed("json", storable_value(problem))
    return f"tries = tries + 1, last_error = '', problem = {value}", params


def _in(seconds: float, now: datetime | None) -> str:
    return dialect.instant_text(dialect.read_clock(now) + timedelta(seconds=seconds))


@around("sinks.end_claim")
def _end_claim(sink: ClaimedSink, assign: str, params: list[Any]) -> bool:
    return (
        dialect.execute(
            f"UPDATE workers_sink SET {assign} WHERE id = %s AND state = 'open' AND cursor = %s"
            " AND next_try_at = %s",
            [*params, sink.id, sink.cursor, dialect.instant_text(sink.until)],
        )
        == 1
    )


def redeliver(
    sink_id: int, *, actor: str, after: int | None = None, now: datetime | None = None
) -> bool:
    """Make a sink due at once, from its cursor or from the row after ``after``.

    Voids any claim on it, and closes the alert about its address: if it still cannot be told, a new
    one is raised.  False: it has no rows to be told.
    """
    at = dialect.read_clock(now)
    begin = "cursor" if after is None else "CASE WHEN %s < last THEN %s ELSE last END"
    params = [] if after is None else [after, after]
    with durable("sinks.redeliver"):
        rows = dialect.fetch(
            f"UPDATE workers_sink SET state = 'open', tries = 0, problem = NULL,"
            f" last_error = '', next_try_at = %s, cursor = {begin} WHERE id = %s AND last > {begin}"
            " RETURNING kind, owner, address, process_id",
            [dialect.instant_text(at), *params, sink_id, *params],
        )
        for kind, owner, address, process_id in rows:
            alerts.resolve(f"sink_undeliverable:{mark(kind, owner, address)}", at)
            detail = {"owner": owner, "after": after}
            journal.record_act("retold", detail, actor=actor, process_id=process_id, now=at)
    return bool(rows)


def mark(kind: str, owner: str, address: str) -> str:
    """Return a unique mark of an owner's address that shows the owner, but not the address."""
    return f"{owner}:{hashlib.sha256(f'{kind} {owner} {address}'.encode()).hexdigest()[:32]}"
