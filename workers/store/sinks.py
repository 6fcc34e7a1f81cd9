"""Who is told of a process, and how far that has come.

A sink is due while it is open, there are journal rows beyond its cursor, and no claim and no
backoff is on it.  Whoever appends such rows says so here, in the same transaction and under
the process's lock, so that nothing to be told is ever forgotten.
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
from workers.store import acts, alerts
from workers.store.db import bulk_update, dialect

#: SQL that says of the process row ``t`` whether anybody wants to be told of it.  With EXISTS
#: PostgreSQL would read all sinks there are into a hash; a LIMIT has it look into the index.
IS_TOLD = "(SELECT 1 FROM workers_sink k WHERE k.process_id = t.id LIMIT 1) IS NOT NULL"

_DUE = "s.state = 'open' AND s.last > s.cursor AND s.next_try_at <= {now}"

#: SQL that says whether somebody is to be told of something.  As if in order: by its statistics
#: alone PostgreSQL may prefer to read all sinks.
HAS_DUE = (
    f"((SELECT s.id FROM workers_sink s WHERE {_DUE}"
    " ORDER BY s.next_try_at, s.id LIMIT 1) IS NOT NULL)"
)


#: Where somebody is told: owner and address. One address of two owners is two places, so that
#: neither slows the other down.
Place = tuple[str, str]
_PLACE = "s.owner || ' ' || s.address"
#: Owner and the server behind an address, up to its path; of a queue the address itself.
Server = tuple[str, str]


@dataclass(slots=True)
class ClaimedSink:
    """A sink that nobody else sends to until ``until``."""

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
    """How far a sink was told, by whoever held it."""

    sink: ClaimedSink
    sequence: int
    #: Whether that was the process's last row ever.
    is_final: bool = False
    #: Whether the claim ends with it.
    is_over: bool = True


_READ = [field.name for field in fields(ClaimedSink) if field.name != "until"]
_SELECT = ", ".join(f"s.{name}" for name in _READ)


def make(told: Sequence[tuple[int, NewSink]], at: datetime) -> None:
    """Write the sinks of new processes, in their transaction: the first rows are to be told."""
    if not told:
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
            for process_id, sink in told
        ]
    )


def announce(processes: Sequence[LockedProcess]) -> None:
    """Note the rows that processes have got, in the transaction that holds their locks."""
    if not processes:
        return
    rows = [{"id": locked.process.id, "last": locked.process.sequence} for locked in processes]
    dialect.execute(
        "UPDATE workers_sink AS s SET last = v.last"
        f" FROM {dialect.rows_as('v', {'id': 'id', 'last': 'int'})}"
        f" WHERE {dialect.looked_up('s.process_id', 'v.id')}",
        [dialect.encode(rows)],
    )
    # Who was told of the end is told what comes after it: a step done again, a late success.
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
    """Take due sinks of one kind for a while, those that have waited longest first.

    Sinks of the owners in ``not_of``, at the places in ``not_at`` and on the servers in ``not_on``
    are left, and so is what another relay holds.
    """
    at = dialect.read_clock(now)
    until = at + timedelta(seconds=seconds)
    left_alone = dialect.rows_as("v", {"owner": "text", "server": "text"})
    with durable("sinks.claim"):
        found = dialect.fetch(
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
        claimed = [ClaimedSink(**dict(zip(_READ, row, strict=True)), until=until) for row in found]
        dialect.execute(
            f"UPDATE workers_sink SET next_try_at = %s WHERE {dialect.among('id')}",
            [dialect.instant_text(until), dialect.id_list([sink.id for sink in claimed])],
        )
    return claimed


@around("sinks.told")
def told(found: Sequence[SinkProgress], now: datetime | None = None) -> set[int]:
    """Move the cursors of sinks on; return those that moved.

    One whose cursor is not where it was found has been told by somebody else meanwhile: it
    is left alone, and whoever finds it missing here stops.
    """
    if not found:
        return set()
    at = dialect.read_clock(now)
    rows = [
        {
            "id": one.sink.id,
            "was": one.sink.cursor,
            "cursor": one.sequence,
            "until": one.sink.until,
            "is_final": one.is_final,
            "is_over": one.is_over,
            "at": at,
        }
        for one in found
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
    """Give a claim back without a try counted: the sink is due again after ``seconds``."""
    _end_claim(sink, "next_try_at = %s", [_in(seconds, now)])


def failed(
    sink: ClaimedSink, seconds: float, problem: Mapping[str, Any], now: datetime | None = None
) -> None:
    """Count a failed try, and have the next one made after ``seconds``.

    ``problem`` is a code of ``delivery_problems`` with its parameters.
    """
    assign, params = _tried(problem)
    _end_claim(sink, f"next_try_at = %s, {assign}", [_in(seconds, now), *params])


def give_up(sink: ClaimedSink, problem: Mapping[str, Any]) -> bool:
    """Send to a sink no more.  False: it was told, or taken over, by somebody else meanwhile."""
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
    """Have a sink told again at once, from where it stands or from ``after`` a row on.

    A claim that somebody holds on it counts no more, and the alert about its address is closed:
    where it still cannot be told, there is a new one.  False: there is nothing to tell it.
    """
    at = dialect.read_clock(now)
    begin = "cursor" if after is None else "CASE WHEN %s < last THEN %s ELSE last END"
    params = [] if after is None else [after, after]
    with durable("sinks.redeliver"):
        found = dialect.fetch(
            f"UPDATE workers_sink SET state = 'open', tries = 0, problem = NULL,"
            f" last_error = '', next_try_at = %s, cursor = {begin} WHERE id = %s AND last > {begin}"
            " RETURNING kind, owner, address, process_id",
            [dialect.instant_text(at), *params, sink_id, *params],
        )
        for kind, owner, address, process_id in found:
            alerts.resolve(f"sink_undeliverable:{mark(kind, owner, address)}", at)
            detail = {"owner": owner, "after": after}
            acts.record_act("retold", detail, actor=actor, process_id=process_id, now=at)
    return bool(found)


def mark(kind: str, owner: str, address: str) -> str:
    """Return what tells an owner's address from any other: the owner, and not the address."""
    return f"{owner}:{hashlib.sha256(f'{kind} {owner} {address}'.encode()).hexdigest()[:32]}"
