"""The rows of schedules: one transaction moves a row past the instants that it deals with."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, NotRequired, TypedDict, Unpack

from django.db.models import Q

from workers.definitions.schedule import Schedule
from workers.exceptions import StateError, in_a_line
from workers.models import Process
from workers.models import Schedule as Row
from workers.rules import schedules as rules
from workers.rules.lateness import AHEAD_SECONDS
from workers.rules.rows import AlertCall
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.runtime.json_text import encode_document
from workers.states import FINAL_PROCESS_STATES
from workers.store import alerts, journal
from workers.store.db import dialect

#: How long one that cannot fire rests: many of them must not hide those behind.
REST = timedelta(seconds=60)
#: How long an instant is left to workers whose code declares its schedule.
GONE = timedelta(minutes=10)
#: True if there is no schedule: nothing is to be done.
NONE = "NOT EXISTS (SELECT 1 FROM workers_schedule)"


def definition(row: Row) -> Schedule:
    """Return the schedule of a row; raise ``WorkflowError`` if it cannot work any more."""
    seconds = row.every_seconds
    return Schedule(
        row.name,
        row.workflow,
        cron=row.cron,
        every=None if seconds is None else timedelta(seconds=seconds),
        time_zone=row.time_zone,
        overlap=row.overlap,  # type: ignore[arg-type]  # checked
        catch_up=timedelta(seconds=row.catch_up_seconds),
        jitter_seconds=row.jitter_seconds,
        input=row.input or {},
        attributes=row.attributes,
        subject=row.subject or None,
    )


def columns(schedule: Schedule, attributes: Mapping[str, str]) -> dict[str, Any]:
    """Return the columns of a schedule that say what it is."""
    return {
        "workflow": schedule.workflow,
        "cron": schedule.cron,
        "every_seconds": schedule.every and int(schedule.every.total_seconds()),
        "time_zone": schedule.time_zone,
        "overlap": schedule.overlap,
        "catch_up_seconds": int(schedule.catch_up.total_seconds()),
        "jitter_seconds": schedule.jitter_seconds,
        # As it is read again: a tuple is a list then.
        "input": None
        if callable(schedule.input)
        else json.loads(encode_document(dict(schedule.input))),
        "attributes": dict(attributes),
        "subject": schedule.subject or "",
    }


def outdated(declared: Mapping[str, Schedule]) -> list[Schedule]:
    """Return the schedules of the code whose rows are missing, or say something else."""
    rows = {row.name: row for row in Row.objects.filter(name__in=declared)}
    return [
        schedule
        for name, schedule in declared.items()
        if name not in rows or _changes(rows[name], _declared(schedule))
    ]


def _changes(row: Row, values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if getattr(row, name) != value}


def _declared(schedule: Schedule) -> dict[str, Any]:
    # For people: what begins has the code's own attributes.
    texts = {name: str(value) for name, value in (schedule.attributes or {}).items()}
    return columns(schedule, texts) | {"is_declared": True}


def write(
    schedule: Schedule, attributes: Mapping[str, str] | None = None, now: datetime | None = None
) -> bool:
    """Write the row of a schedule that is new, or says something else.  False: it was so.

    Without the texts of its attributes it is one of the code.
    What is due fires first, as it was.  A schedule of the code takes over a row of its name;
    raises ``StateError`` for one made at run time whose name the code has.
    """
    is_declared = attributes is None
    values = _declared(schedule)
    if attributes is not None:
        values = columns(schedule, attributes) | {"is_declared": False}
    with durable("schedules.write"):
        at = dialect.read_clock(now)
        begin = _stand(schedule, at)
        row, is_new = Row.objects.select_for_update().get_or_create(
            name=schedule.name, defaults={**values, **begin}
        )
        if is_new:
            return True
        if row.is_declared and not is_declared:
            raise StateError(f"Schedule {schedule.name} is declared in code. Change it there.")
        changed = _changes(row, values)
        if not changed or (is_declared and row.due_at <= at):
            return False
        moved = {"cron", "every_seconds", "time_zone", "jitter_seconds"} & changed.keys()
        Row.objects.filter(pk=row.pk).update(**changed, **(begin if moved else {}))
    return True


def _stand(schedule: Schedule, at: datetime) -> dict[str, datetime]:
    """Return the columns of a schedule whose next instant is the first one ``at``."""
    next_at = next(schedule.timing.after(at))
    due_at = next_at + rules.jitter(schedule, next_at)
    return {"next_at": next_at, "due_at": due_at, "set_at": at}


def due(limit: int, now: datetime | None = None) -> list[tuple[int, str]]:
    """Return id and name of schedules that are due, or were set by a clock that was ahead."""
    at = dialect.read_clock(now)
    rows = Row.objects.filter(Q(due_at__lte=at) | _ahead(at), paused_at=None)
    return list(rows.order_by("due_at").values_list("pk", "name")[:limit])


def _ahead(at: datetime) -> Q:
    return Q(set_at__gt=at + timedelta(seconds=AHEAD_SECONDS))


def lock_due(row_id: int, now: datetime | None = None) -> tuple[Row | None, datetime]:
    """Lock a schedule that is due; None if another process deals with it, or has."""
    rows = Row.objects.select_for_update(skip_locked=True).filter(pk=row_id, paused_at=None)
    row = rows.first()
    at = dialect.read_clock(now)
    if row is not None and not (row.due_at <= at or is_ahead(row, at)):
        row = None
    return row, at


def is_ahead(row: Row, at: datetime) -> bool:
    """Say whether a row was set by a clock that has been set back since."""
    return row.set_at > at + timedelta(seconds=AHEAD_SECONDS)


def is_running(row: Row) -> bool:
    """Say whether the process that began last has not ended; a paused one has not, nor an error."""
    if row.last_process is None:
        return False
    rows = Process.objects.filter(pk=row.last_process)
    return rows.exclude(state__in=FINAL_PROCESS_STATES).exists()


def begin_anew(row: Row, schedule: Schedule, at: datetime) -> None:
    """Have a row go on from ``at``, paused no more: instants before are left out."""
    row.paused_at = None
    for name, value in _stand(schedule, at).items():
        setattr(row, name, value)


def end_gone(row: Row, at: datetime) -> bool:
    """End a schedule that no code declares any more, and tell it.  False: it may be elsewhere."""
    if at - row.due_at < GONE:
        return False
    params = {"schedule": row.name, "at": row.next_at.isoformat()}
    alerts.write([AlertCall(f"schedule_gone:{row.name}", "schedule_gone", params)], at)
    row.delete()
    return True


def save(row: Row, turn: rules.Turn, tick: datetime, at: datetime) -> bool:
    """Move a row past what fired, from the ``tick`` that was next.  False: another one has."""
    if turn.missed:
        params = {"schedule": row.name, **rules.span(turn.missed)}
        call = AlertCall(f"schedule_missed:{row.name}", "schedule_missed", params)
        alerts.write([call], at)
    return bool(
        Row.objects.filter(pk=row.pk, next_at=tick).update(
            next_at=turn.next_at,
            due_at=turn.due_at,
            set_at=at,
            skip_at=row.skip_at if row.skip_at and row.skip_at >= turn.next_at else None,
            last_at=row.last_at,
            last_process=row.last_process,
            missed=row.missed + len(turn.missed),
            skipped=row.skipped + turn.skipped,
            problem="",
            backfill_at=row.backfill_at,
            backfill_until=row.backfill_until,
        )
    )


def fail(name: str, error: Exception, now: datetime | None = None) -> None:
    """Keep why a schedule cannot fire, tell it, and have it rest."""
    text = storable_text.storable(in_a_line(error, 300))[:300]
    with durable("schedules.fail"):
        at = dialect.read_clock(now)
        params = {"schedule": name, "error": text}
        alerts.write([AlertCall(f"schedule_failed:{name}", "schedule_failed", params)], at)
        Row.objects.filter(name=name).update(problem=text, due_at=at + REST)


class By(TypedDict):
    """Who steers, and why, and when."""

    actor: str
    reason: str
    now: NotRequired[datetime | None]


@contextmanager
def steered(
    name: str, event: str, **by: Unpack[By]
) -> Iterator[tuple[Row, datetime, dict[str, Any]]]:
    """Lock a schedule for an operator, and save and journal what the block makes of it.

    Yields the row, the instant, and further detail for the journal.  Raises ``StateError`` if
    there is no such schedule.
    """
    storable_text.check_all(name=name, actor=by["actor"], reason=by["reason"])
    with durable("schedules.steer"):
        row = Row.objects.select_for_update().filter(name=name).first()
        if row is None:
            raise StateError(f"There is no schedule {name!r}. `sas schedule list` names them.")
        at = dialect.read_clock(by.get("now"))
        detail: dict[str, Any] = {"schedule": name, "reason": by["reason"]}
        yield row, at, detail
        if row.pk:
            row.save()
        journal.record_act(event, detail, actor=by["actor"], now=at)


def pause(name: str, **by: Unpack[By]) -> None:
    """Have a schedule begin nothing, its backfill included, until it is resumed."""
    with steered(name, "schedule_paused", **by) as (row, at, _):
        if row.paused_at is not None:
            raise StateError(f"Schedule {name} is paused already.")
        row.paused_at = at
