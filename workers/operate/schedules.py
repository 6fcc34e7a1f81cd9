"""Fire schedules, with each poll: what begins and the row's next instant are one commit."""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import islice

from workers.client import schedules as client
from workers.definitions import registry
from workers.definitions.schedule import Schedule
from workers.exceptions import AWAY
from workers.models import Schedule as Row
from workers.rules import schedules as rules
from workers.runtime.failpoints import durable
from workers.runtime.soft_limit import SOFT_LIMIT
from workers.store import schedules as rows
from workers.store.duties import When, duty
from workers.store.leases import HeldLease

log = logging.getLogger(__name__)

#: The most schedules that one poll deals with; the next one goes on.
MOST = 500


def _rests() -> str:
    """Return SQL that is true while there is nothing to do: no schedule costs no statement."""
    return "" if registry.schedules() else rows.NONE


@duty("schedules", When.POLL, rests=_rests)
def perform(lease: HeldLease) -> None:
    """Write the rows of the code's schedules, and fire what is due."""
    for schedule in rows.outdated(registry.schedules()):
        _apart(schedule.name, partial(rows.write, schedule))
    for row_id, name in rows.due(MOST):
        if not lease.renew():
            return
        fire(row_id, name)


def fire(row_id: int, name: str, now: datetime | None = None) -> None:
    """Fire what is due of one schedule; one that cannot is told, and holds up no other."""
    _apart(name, partial(_fire, row_id, now), now)


def _apart(name: str, work: Callable[[], object], now: datetime | None = None) -> None:
    try:
        work()
    except (*AWAY, SOFT_LIMIT):
        raise
    except Exception as error:
        log.exception("schedule_failed", extra={"schedule": name})
        rows.fail(name, error, now)


def _fire(row_id: int, now: datetime | None) -> None:
    with durable("schedules.fire"):
        row, at = rows.lock_due(row_id, now)
        if row is None:
            return
        if row.is_declared and row.name not in registry.schedules():
            rows.end_gone(row, at)
            return
        schedule, tick = client.definition(row), row.next_at
        if rows.is_ahead(row, at):
            # Whatever has fired under the wrong clock has its key, and does not fire again.
            rows.begin_anew(row, schedule, at)
        turn = rules.turn(
            *(schedule, row.next_at, at),
            is_running=(is_running := rows.is_running(row)),
            skip_at=row.skip_at,
        )
        is_replacing = turn.fires and is_running and schedule.overlap == "replace"
        if is_replacing and not client.make_way(row, now=now):
            turn.fires, turn.skipped = [], turn.skipped + 1
        if processes := client.begin(schedule, turn.fires, now=now):
            row.last_at, row.last_process = turn.fires[-1], processes[-1].pk
        _backfill(row, schedule, turn, at, now)
        rows.save(row, turn, tick, at)


def _backfill(
    row: Row, schedule: Schedule, turn: rules.Turn, at: datetime, now: datetime | None
) -> None:
    """Begin the next processes of a backfill; the poll's pace is its own."""
    if row.backfill_at is None or row.backfill_until is None:
        return
    left = rules.window(schedule, row.backfill_at, row.backfill_until)
    portion = list(islice(left, rules.MOST_FIRED + 1))
    client.begin(schedule, portion[: rules.MOST_FIRED], now=now)
    if len(portion) > rules.MOST_FIRED:
        row.backfill_at, turn.due_at = portion[-1], at
    else:
        row.backfill_at = row.backfill_until = None
