"""Schedules made at run time, and what operators do with any.

All raise ``StateError``, and change nothing, if the state forbids it or there is no such schedule.
"""

from datetime import datetime, timedelta
from itertools import islice
from typing import Unpack
from uuid import uuid4

from workers.client import operations
from workers.client.submission import submit_many
from workers.definitions import attributes, registry
from workers.definitions.schedule import Schedule
from workers.exceptions import StateError, WorkflowError
from workers.models import Process
from workers.models import Schedule as Row
from workers.rules import attributes as checked_attributes
from workers.rules import new_processes
from workers.rules import schedules as rules
from workers.rules.rows import NewProcess
from workers.store import journal
from workers.store import schedules as rows
from workers.store.schedules import By

#: This one begins nothing.
pause = rows.pause


def schedule(wanted: Schedule, *, actor: str = "application", now: datetime | None = None) -> None:
    """Make a schedule at run time, or change the one of that name; nothing if it is so.

    Part of the caller's transaction, if there is one.  Raises ``WorkflowError`` for an input that
    is a function, ``UnknownWorkflow``, what ``submit`` raises for the input and attributes, and
    ``StateError`` for a name that the code declares.
    """
    if callable(wanted.input):
        raise WorkflowError(
            f"Schedule {wanted.name}: input must be a dict, got a function, which no row holds."
            " Give a dict, or declare the schedule in code with register_schedule."
        )
    if wanted.name in registry.schedules():
        raise StateError(f"Schedule {wanted.name} is declared in code. Change it there.")
    if rows.write(wanted, texts(wanted), now):
        journal.record_act("scheduled", {"schedule": wanted.name}, actor=actor, now=now)


def unschedule(name: str, *, actor: str = "application", now: datetime | None = None) -> bool:
    """End a schedule that was made at run time; its processes go on.  False: there is none.

    Also one of the code whose code is gone.
    """
    if name in registry.schedules():
        raise StateError(f"Schedule {name} is declared in code. Remove it there.")
    if not Row.objects.filter(name=name).exists():
        return False
    with rows.steered(name, "unscheduled", actor=actor, reason="", now=now) as (row, _at, _detail):
        row.delete()
    return True


def texts(wanted: Schedule) -> dict[str, str]:
    """Return the texts of a schedule's attributes; check what every process of it would have."""
    at = next(wanted.timing.after(datetime.now().astimezone()))
    workflow = registry.workflow(str(wanted.workflow))
    sample = new_process(wanted, at) if not callable(wanted.input) else None
    if sample is not None:
        new_processes.check(sample)
    plain = NewProcess(wanted.name, {}, attributes=wanted.attributes)
    return checked_attributes.texts(workflow, plain)


def new_process(wanted: Schedule, at: datetime, key: str = "") -> NewProcess:
    """Return the process of an instant; raises whatever the input's function does."""
    local = wanted.timing.local(at)
    data = wanted.input(local) if callable(wanted.input) else dict(wanted.input)
    subject = wanted.subject or f"{wanted.name} {local:%Y-%m-%d %H:%M}"
    return NewProcess(
        subject=subject,
        input=data,
        submission_key=key or rules.key(wanted.name, at),
        key_for=None,
        attributes=wanted.attributes,
    )


def begin(
    wanted: Schedule, instants: list[datetime], *, key: str = "", now: datetime | None = None
) -> list[Process]:
    """Begin the processes of instants; one that is there already is not begun again."""
    if not instants:
        return []
    new = [new_process(wanted, at, key) for at in instants]
    actor = f"schedule:{wanted.name}"
    return submit_many(str(wanted.workflow), new, actor=actor, now=now)


def definition(row: Row) -> Schedule:
    """Return the schedule of a row: of the code, or of the row, with its attributes' types."""
    declared = registry.schedules().get(row.name)
    if declared is not None:
        return declared
    wanted = rows.definition(row)
    if row.is_declared and row.input is None:
        raise WorkflowError(f"Schedule {row.name} is not in this code, which has its input.")
    kinds = registry.workflow(row.workflow).attributes if row.attributes else {}
    values = {
        name: attributes.value(kinds[name], text) if name in kinds else text
        for name, text in row.attributes.items()
    }
    object.__setattr__(wanted, "attributes", values)
    return wanted


def make_way(row: Row, *, now: datetime | None = None) -> bool:
    """Cancel the process that runs, for one that replaces it.  False: it must not be."""
    try:
        operations.cancel(
            row.last_process or 0, actor=f"schedule:{row.name}", reason="replaced", now=now
        )
    except StateError:
        return False
    return True


def resume(name: str, **by: Unpack[By]) -> None:
    """Resume a schedule; the instants of the pause do not fire."""
    with rows.steered(name, "schedule_resumed", **by) as (row, at, _):
        if row.paused_at is None:
            raise StateError(f"Schedule {name} is not paused.")
        rows.begin_anew(row, definition(row), at)
        if row.backfill_at is not None:
            row.due_at = at


def run(name: str, **by: Unpack[By]) -> Process:
    """Begin a process now, beside the instants; return it.

    Refused while the one before runs, unless ``overlap`` is ``both`` or ``replace``.
    """
    with rows.steered(name, "schedule_run", **by) as (row, at, detail):
        wanted = definition(row)
        is_barred = wanted.overlap != "both" and rows.is_running(row)
        if is_barred and not (wanted.overlap == "replace" and make_way(row, now=by.get("now"))):
            raise StateError(
                f"Process {row.last_process} of schedule {name} has not ended."
                " Wait for its end, or cancel it."
            )
        key = f"schedule:{name}:run:{uuid4().hex}"
        (process,) = begin(wanted, [at], key=key, now=by.get("now"))
        row.last_process = detail["process"] = process.pk
    return process


def skip(name: str, **by: Unpack[By]) -> datetime:
    """Leave out the next instant; return it."""
    with rows.steered(name, "schedule_skipped", **by) as (row, _, detail):
        if row.skip_at == row.next_at:
            raise StateError(f"Schedule {name} leaves out {row.skip_at.isoformat()} already.")
        row.skip_at = row.next_at
        detail["at"] = row.next_at.isoformat()
    return row.next_at


def backfill(name: str, begin_at: datetime, end_at: datetime, **by: Unpack[By]) -> list[datetime]:
    """Begin processes for the instants of a window in the past; return the instants.

    The poll begins some at a time, whatever ``overlap``.  An instant that has fired begins none.
    """
    with rows.steered(name, "schedule_backfill", **by) as (row, at, detail):
        if row.backfill_at is not None:
            raise StateError(f"A backfill of schedule {name} is under way. Wait for its end.")
        if end_at > at:
            raise StateError(f"A backfill ends in the past, got {end_at.isoformat()}.")
        instants = window(row, begin_at, end_at)
        row.backfill_at, row.backfill_until, row.due_at = instants[0], instants[-1], at
        detail.update(rules.span(instants))
    return instants


def window(row: Row, begin_at: datetime, end_at: datetime) -> list[datetime]:
    """Return the instants that a backfill of a window would begin; refuse none and too many."""
    most = rules.MOST_BACKFILLED
    instants = list(islice(rules.window(definition(row), begin_at, end_at), most + 1))
    if not instants:
        raise StateError(f"Schedule {row.name} has no instant in this window. Widen it.")
    if len(instants) > most:
        raise StateError(f"A backfill has {most} instants at most. Take a shorter window.")
    return instants


def upcoming(row: Row, count: int = 5) -> list[datetime]:
    """Return the next instants of a schedule, without one that is left out."""
    timing = definition(row).timing
    just_before = row.next_at - timedelta(microseconds=1)
    return [at for at in islice(timing.after(just_before), count + 1) if at != row.skip_at][:count]
