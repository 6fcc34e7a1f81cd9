"""Reading processes under their lock, and writing back the rows that moved."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from workers.conf import sas
from workers.models import Process, Step
from workers.protocol.faults import FaultRecord
from workers.rules.rows import Entry, ProcessRow, StepRow
from workers.rules.transitions import LockedProcess
from workers.store import alerts, journal, sinks
from workers.store.db import dialect, transactions
from workers.store.db.columns import columns_of
from workers.store.db.transactions import Check, LostRow
from workers.store.locked import log_lines, save

P = ParamSpec("P")
R = TypeVar("R")


def again_when_lost(verb: Callable[P, R]) -> Callable[P, R]:
    """Repeat a verb from its reading on when a row moved between its reading and its write.

    Agents start claims and file replies without the process lock, so a verb that must not
    overrun them guards its write with a condition, and looks again when that fails.
    """

    @wraps(verb)
    def repeated(*args: P.args, **kwargs: P.kwargs) -> R:
        for _ in range(9):
            try:
                return verb(*args, **kwargs)
            except LostRow:
                continue
        return verb(*args, **kwargs)

    return repeated


_STEP_FIELDS = [f.name for f in fields(StepRow) if f.name not in ("is_filed", "result")]
# No decision looks at results: they are kept as texts beside the rows.
_STEP_SELECT = ", ".join(
    {"is_filed": "t.reply IS NOT NULL", "result": "NULL"}.get(name, f't."{name}"')
    for name in (field.name for field in fields(StepRow))
)
_PROCESS_SELECT = ", ".join(
    sinks.IS_TOLD if name == "is_told" else f't."{name}"'
    for name in (field.name for field in fields(ProcessRow))
)
#: So many processes are written while the next are decided about.
PART = 100
_Fix = tuple[int, Callable[[Any], Any]]


@lru_cache(maxsize=1000)
def _names(document: Any) -> Sequence[str]:
    """Return a list of names, of which a workflow has a few that all of its processes share."""
    return tuple(dialect.document(document))


def _fault(document: Any) -> FaultRecord | None:
    return FaultRecord.from_json(dialect.document(document))


@cache
def _fixes(row: type, is_postgres: bool) -> tuple[_Fix, ...]:
    """Return how to convert what the database gives, by place, where a row in memory differs."""
    kinds = {**columns_of(Step if row is StepRow else Process)}
    kinds |= {"after": "names", "no_return": "names", "fault": "fault"}
    fix: dict[str, Callable[[Any], Any]] = {
        "json": dialect.document,
        "names": _names,
        "fault": _fault,
    }
    if not is_postgres:
        fix |= {"instant": dialect.instant, "uuid": dialect.uuid, "bool": bool}
    # What is no column is a yes or no that was asked along with them.
    hows = [fix.get(kinds.get(field.name, "bool")) for field in fields(row)]
    return tuple((place, how) for place, how in enumerate(hows) if how is not None)


def _read(rows: list[tuple[Any, ...]], fixes: tuple[_Fix, ...]) -> list[list[Any]]:
    rows_read = [list(row) for row in rows]
    for place, how in fixes:
        for values in rows_read:
            value = values[place]
            if value is not None:
                values[place] = how(value)
    return rows_read


def lock(
    process_ids: Iterable[int], now: datetime | None, *, skip_locked: bool = False
) -> list[LockedProcess]:
    """Lock processes in primary-key order and read them with their steps, inputs and results.

    Must run inside a transaction.  With ``skip_locked`` those that another session holds
    are left out.  The steps are read by a later statement than the lock: one whose snapshot
    is older than the wait for the lock would miss what the other session just committed.
    """
    ids = sorted(set(process_ids))
    steps = dialect.of_each("workers_step", "process_id")
    return _lock(dialect.among("t.id"), steps, ids, now, skip_locked, is_whole=True)


def lock_of(
    step_ids: Sequence[int],
    now: datetime | None,
    *,
    skip_locked: bool = False,
    along: Callable[[], None] | None = None,
) -> list[LockedProcess]:
    """As ``lock``, for the processes of these steps; a step never changes its process.

    ``along`` may send what is to leave together with it, to be run once they are locked.
    """
    which = dialect.among_found("t.id", _owners())
    return _lock(which, siblings(), step_ids, now, skip_locked, is_whole=True, along=along)


def siblings() -> str:
    """Return the FROM clause for all steps t of the processes of a parameter's steps."""
    return dialect.of_each("workers_step", "process_id", of=_owners())


def lock_only(
    step_ids: Sequence[int], now: datetime | None, *, skip_locked: bool = False
) -> list[LockedProcess]:
    """As ``lock_of``, and read of each process these steps alone, without input and results.

    For who looks at no others.  Each id may be given once.
    """
    steps = dialect.of_each("workers_step", "id")
    which = dialect.among_found("t.id", _owners())
    return _lock(which, steps, step_ids, now, skip_locked, is_whole=False)


def _owners() -> str:
    """Return SQL for the processes of the steps of a parameter.

    ``+ 0``, so that no index has them in order: the planner would read one whole for that.
    """
    return (
        f"SELECT DISTINCT s.process_id + 0 AS id FROM workers_step s WHERE {dialect.among('s.id')}"
    )


def _lock(
    which: str,
    steps: str,
    ids: Sequence[int],
    now: datetime | None,
    skip_locked: bool,
    *,
    is_whole: bool,
    along: Callable[[], None] | None = None,
) -> list[LockedProcess]:
    if not ids:
        return []
    input_sql = dialect.if_small("t.input") if is_whole else "NULL"
    result_sql = dialect.if_small("t.result") if is_whole else "NULL"
    with dialect.pipelined():
        read_processes = dialect.send(
            f"SELECT {_PROCESS_SELECT}, {input_sql} FROM workers_process t WHERE {which}"
            " ORDER BY t.id " + dialect.lock_rows("t", skip_locked=skip_locked),
            [dialect.id_list(ids)],
        )
        # As text, for it stands in every row; by now the lock is had.
        moment, params = dialect.clock(now)
        read_steps = dialect.send(
            f"SELECT {_STEP_SELECT}, {result_sql}, (SELECT CAST({moment} AS text)) FROM {steps}"
            " ORDER BY t.process_id, t.position",
            [*params, dialect.id_list(ids)],
        )
        if along is not None:
            along()
    processes, step_rows = read_processes(), read_steps()
    if not step_rows:
        return []
    at = dialect.instant(step_rows[0][-1])
    assert at is not None
    is_postgres = dialect.is_postgres()
    lockeds = {}
    for values in _read(processes, _fixes(ProcessRow, is_postgres)):
        text = values.pop()
        process = ProcessRow(*values)
        lockeds[process.id] = locked = LockedProcess(process, [], at)
        locked.process_as_read, locked.input_as_read = values, text
    for values in _read(step_rows, _fixes(StepRow, is_postgres)):
        values.pop()
        text = values.pop()
        step = StepRow(*values)
        # Skip steps of processes another session holds.
        if (owner := lockeds.get(step.process_id)) is not None:
            owner.steps.append(step)
            owner.steps_as_read[step.id] = values
            if text is not None:
                owner.results_as_read[step.id] = text
    return list(lockeds.values())


def write(
    lockeds: Sequence[LockedProcess],
    decide: Callable[[], None] | None = None,
    *,
    is_last: bool = False,
) -> None:
    """Write every row that moved, its journal entries and its alerts.

    Must run inside the transaction that took the locks.  With ``decide`` the steps that moved
    are sent first and what it decides after that: where statements are pipelined, the database
    writes the one while it makes up the other.  It may send nothing that it must read, and move
    no step that an agent may be at work on, for those are locked in order by the first write.
    With ``is_last`` the commit may leave along (``transactions.writes``).
    Raises ``LostRow``, so that the transaction rolls back, when a row is not as it was read:
    agents start claims and file replies without the process lock.
    """
    if not lockeds:
        return
    with transactions.writes(is_last=is_last) as checks:
        if decide is not None:
            checks.extend(write_part(lockeds, only_steps=True))
            _count_as_read(lockeds)
            decide()
        checks.extend(write_part(lockeds))


def count_as_written(locked: LockedProcess) -> list[Entry]:
    """Compare a process from here on with what was written; return its journal entries.

    What moves later is written by a ``write`` of its own.
    """
    _count_as_read([locked])
    locked.process_as_read, locked.process_origin = save.process_values_of(locked.process), None
    entries, locked.entries, locked.alerts = locked.entries, [], []
    return entries


def _count_as_read(lockeds: Sequence[LockedProcess]) -> None:
    """Compare steps that were sent with what was sent, so that only later moves are written."""
    for locked in lockeds:
        for step in locked.steps:
            if step.id in locked.step_origins:
                locked.steps_as_read[step.id] = save.values_of(step)
        locked.step_origins = {}


def decide_and_write(
    lockeds: Sequence[LockedProcess], decide: Callable[[LockedProcess], None]
) -> None:
    """Decide about each process and write, as ``write`` does with ``is_last``, part after part.

    Where statements are pipelined, the database writes a part while the next is decided.
    ``decide`` may send nothing.
    """
    if not lockeds:
        return
    in_order = sorted(lockeds, key=lambda locked: locked.steps[0].id)
    ids = [step.id for locked in in_order for step in locked.steps]
    with transactions.writes(is_last=True) as checks:
        if ids != sorted(ids):
            # Part by part they would not be locked in primary-key order.
            save.lock_steps(ids)
        for begin in range(0, len(in_order), PART):
            part = in_order[begin : begin + PART]
            for locked in part:
                decide(locked)
            checks.extend(write_part(part))


def write_part(lockeds: Sequence[LockedProcess], *, only_steps: bool = False) -> list[Check]:
    """Send what moved, in a ``pipelined`` block; return what is to be looked at after it."""
    checks = save.steps([locked for locked in lockeds if locked.step_origins])
    if only_steps:
        return checks
    checks += save.processes([locked for locked in lockeds if locked.process_origin is not None])
    journal.write([entry for locked in lockeds for entry in locked.entries], lockeds[0].now)
    log_lines.write_after_commit(lockeds)
    alerts.write([call for locked in lockeds for call in locked.alerts], lockeds[0].now)
    sinks.announce([locked for locked in lockeds if locked.has_news])
    return checks


def make_planned(lockeds: Sequence[LockedProcess]) -> None:
    """Make the rows of planned undo steps, waiting, and add them to their processes."""
    for locked in lockeds:
        if not locked.planned:
            continue
        made = Step.objects.bulk_create(
            [
                Step(
                    process_id=locked.process.id,
                    name=planned.name,
                    position=len(locked.steps) + place,
                    after=planned.after,
                    agent=planned.agent,
                    effect=planned.effect,
                    key_retention_seconds=planned.key_retention_seconds,
                    turn=locked.process.turn or locked.now,
                    undoes_id=planned.forward.id,
                    timeout_seconds=planned.forward.timeout_seconds,
                    failure_threshold=int(sas.undo_threshold),
                    backoff_base_seconds=planned.forward.backoff_base_seconds,
                    backoff_cap_seconds=planned.forward.backoff_cap_seconds,
                    idempotency_key=f"{planned.forward.idempotency_key}:undo",
                )
                for place, planned in enumerate(locked.planned)
            ]
        )
        for row in made:
            step = StepRow(**{name: getattr(row, name) for name in _STEP_FIELDS})
            locked.steps.append(step)
            locked.steps_as_read[step.id] = save.values_of(step)
        locked.planned = []
