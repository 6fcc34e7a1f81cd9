"""Whether anything has changed since a page was rendered: checked first by every poll.

A page is rendered with a *marker*, and its polls send that marker back; while it is the same, the
answer is 204 and nothing else is read.  Every change of a process writes a journal row, so the
newest row's id covers all of them.  Changes without one (a breaker, the room at an agent, a
silent worker) appear ``FRESH_SECONDS`` late at most: a marker is not older.

Transactions may commit out of the order of their ids.  A page of one process is never misled,
because its rows are written under the lock of the process; a list is stale for at most that long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from workers.store.db import dialect

#: Covers every change of a process.
_EVERYTHING = (
    "(SELECT max(id) FROM workers_journal)",
    "(SELECT max(id) FROM workers_alert)",
    "(SELECT max(acknowledged_at) FROM workers_alert WHERE acknowledged_at IS NOT NULL)",
)
_DUE_SINKS = "workers_sink WHERE state = 'open' AND last > cursor"

#: A page is rendered anew at least this often.
FRESH_SECONDS = 15
#: A page of figures, which are new once a minute, at least this often.
HEALTH_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Marker:
    """A fingerprint of what a page shows, and the database's time when it was taken."""

    text: str
    at: datetime


def of_process(process_id: int, *, beside: Sequence[QuerySet[Any]] = ()) -> Marker:
    """Return the marker of a page about one process; ``beside`` as in ``of_everything``."""
    return _read(
        "(SELECT max(id) FROM workers_journal WHERE process_id = %s)",
        "(SELECT max(id) FROM workers_alert WHERE process_id = %s)",
        "(SELECT max(acknowledged_at) FROM workers_alert WHERE process_id = %s)",
        # Children are counted without a row in the journal of their parent.
        "(SELECT sum(g.processed + 2 * g.failed + g.born_to) FROM workers_childgroup g"
        " JOIN workers_step s ON s.id = g.step_id WHERE s.process_id = %s)",
        params=[process_id] * 4,
        beside=beside,
    )


def of_everything(*more: object, beside: Sequence[QuerySet[Any]] = ()) -> Marker:
    """Return the marker of a list of processes, or of rows that go with them.

    ``more`` are other values the list depends on; ``beside`` are queries for one such value each.
    """
    return _read(*_EVERYTHING, more=more, beside=beside)


def of_desk(*more: object, beside: Sequence[QuerySet[Any]] = ()) -> Marker:
    """Return the marker of a front page: processes, incidents and the figures of the last hour.

    Reads incidents, too: the sweep counts and ends them without a journal row.
    """
    return _read(
        *_EVERYTHING,
        "(SELECT max(id) FROM desk_incident)",
        "(SELECT count(*) FROM desk_incident WHERE resolved_at IS NULL)",
        "(SELECT sum(members) FROM desk_incident WHERE resolved_at IS NULL)",
        "(SELECT max(last_at) FROM desk_incident WHERE resolved_at IS NULL)",
        "(SELECT max(at) FROM desk_gauge WHERE span = 60)",
        more=more,
        beside=beside,
    )


def of_sinks() -> Marker:
    """Return the marker of the list of sinks.

    A sink that is told leaves the index of due ones, a failing one moves to its end; a change in
    the middle of many appears ``FRESH_SECONDS`` late at most.
    """
    return _read(
        *_EVERYTHING,
        f"(SELECT min(next_try_at) FROM {_DUE_SINKS})",
        f"(SELECT max(next_try_at) FROM {_DUE_SINKS})",
    )


def of_deliveries() -> Marker:
    """Return the marker of the lists of routes and deliveries.

    A failing delivery moves to the end of the index of due ones, one that ends leaves it.
    """
    return _read(
        *_EVERYTHING,
        "(SELECT max(id) FROM desk_delivery)",
        "(SELECT count(*) FROM desk_delivery WHERE state = 'due')",
        "(SELECT max(next_at) FROM desk_delivery WHERE state = 'due')",
    )


def of_jobs() -> Marker:
    """Return the marker of the list of jobs, including their progress."""
    return _read(
        *_EVERYTHING,
        "(SELECT max(id) FROM desk_bulkjob)",
        "(SELECT count(*) FROM desk_bulkjob WHERE state = 'running')",
        "(SELECT sum(done) FROM desk_bulkjob WHERE state = 'running')",
    )


def of_leases() -> Marker:
    """Return the marker of the list of duties: each begin and end of a round changes it."""
    return _read(
        "(SELECT max(performed_at) FROM workers_lease)",
        "(SELECT max(expires_at) FROM workers_lease)",
        "(SELECT count(holder) FROM workers_lease)",
        "(SELECT max(failed_at) FROM workers_lease)",
    )


def of_health() -> Marker:
    """Return the marker of the health pages: figures are new once a minute, marks at any time."""
    return _read(
        "(SELECT max(at) FROM desk_gauge WHERE span = 60)",
        "(SELECT cursor FROM workers_lease WHERE name = 'health')",
        "(SELECT max(id) FROM workers_journal WHERE process_id IS NULL)",
        "(SELECT max(id) FROM desk_incident)",
        "(SELECT max(looked_at) FROM desk_proberesult)",
        fresh_seconds=HEALTH_SECONDS,
    )


def _read(
    *newest: str,
    params: list[int] | None = None,
    more: tuple[object, ...] = (),
    beside: Sequence[QuerySet[Any]] = (),
    fresh_seconds: int = FRESH_SECONDS,
) -> Marker:
    """Read the newest values, each from the end of an index, and the clock in one statement."""
    clock, clock_params = dialect.clock(None)
    queries = [rows.query.sql_with_params() for rows in beside]
    facts = ", ".join([clock, *newest, *(f"({statement})" for statement, _params in queries)])
    beside_params = [value for _statement, values in queries for value in values]
    row = dialect.fetch(f"SELECT {facts}", [*clock_params, *(params or []), *beside_params])[0]
    at = dialect.instant(row[0])
    assert at is not None
    period = int(at.timestamp() // fresh_seconds)
    return Marker("|".join(str(fact) for fact in (period, *row[1:], *more)), at)
