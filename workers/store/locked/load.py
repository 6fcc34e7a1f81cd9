"""Read processes under their lock, and write back the rows that moved."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import cache, lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from workers.conf import sas
from workers.models import Process, Spec, Step
from workers.protocol.faults import FaultRecord
from workers.rules import limit_keys
from workers.rules.rows import Entry, ProcessRow, StepRow
from workers.rules.transitions import LockedProcess
from workers.store import alerts, journal, key_places, sinks, specs
from workers.store.db import dialect, transactions
from workers.store.db.columns import columns_of
from workers.store.db.transactions import Check, LostRow
from workers.store.locked import child_rows, log_lines, save

P = ParamSpec("P")
R = TypeVar("R")


def again_when_lost(verb: Callable[P, R]) -> Callable[P, R]:
    """Repeat a verb, including its reads, if a row moved between its read and its write.

    Agents start claims and file replies without the process lock, so a verb that must not
    overwrite them puts a condition on its write, and starts over when that fails.
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


_STEP_FIELDS = [f.name for f in fields(StepRow) if f.name not in ("is_filed", "result", "spec")]
_SPEC = [f.name for f in fields(StepRow)].index("spec")
# Decisions never look at results: they are kept as texts beside the rows.
_STEP_SELECT = ", ".join(
    {"is_filed": "t.reply IS NOT NULL", "result": "NULL", "spec": "t.spec_digest"}.get(
        name, f't."{name}"'
    )
    for name in (field.name for field in fields(StepRow))
)
_PROCESS_SELECT = ", ".join(
    sinks.IS_TOLD if name == "is_told" else f't."{name}"'
    for name in (field.name for field in fields(ProcessRow))
)
#: How many processes are written while the next ones are decided.
PART = 100
_Fix = tuple[int, Callable[[Any], Any]]


@lru_cache(maxsize=1000)
def _names(document: Any) -> Sequence[str]:
    """Return a list of names, cached: all processes of a workflow share a few such lists."""
    return tuple(dialect.document(document))


def _fault(document: Any) -> FaultRecord | None:
    return FaultRecord.from_json(dialect.document(document))


@cache
def _fixes(row: type, is_postgres: bool) -> tuple[_Fix, ...]:
    """Return the conversions from database values to a row in memory, by column index."""
    kinds = {**columns_of(Step if row is StepRow else Process)}
    kinds |= {"spec": "id", "no_return": "names", "fault": "fault"}
    fix: dict[str, Callable[[Any], Any]] = {
        "json": dialect.document,
        "names": _names,
        "fault": _fault,
    }
    if not is_postgres:
        fix |= {"instant": dialect.instant, "uuid": dialect.uuid, "bool": bool}
    # A field without a column is a boolean expression of the SELECT.
    converters = [fix.get(kinds.get(field.name, "bool")) for field in fields(row)]
    return tuple(
        (index, convert) for index, convert in enumerate(converters) if convert is not None
    )


def _read(rows: list[tuple[Any, ...]], fixes: tuple[_Fix, ...]) -> list[list[Any]]:
    lists = [list(row) for row in rows]
    for index, convert in fixes:
        for values in lists:
            value = values[index]
            if value is not None:
                values[index] = convert(value)
    return lists


def lock(
    process_ids: Iterable[int], now: datetime | None, *, skip_locked: bool = False
) -> list[LockedProcess]:
    """Lock processes in primary-key order and read them with their steps, inputs and results.

    Must run inside a transaction.  With ``skip_locked``, leaves out those that another session
    holds.  Reads the steps in a later statement than the lock: a snapshot older than the wait
    for the lock would miss what the other session has just committed.
    """
    ids = sorted(set(process_ids))
    steps = dialect.of_each("workers_step", "process_id")
    return _lock(dialect.among("t.id"), steps, ids, now, skip_locked, is_whole=True)


def lock_of(
    step_ids: Sequence[int],
    now: datetime | None,
    *,
    skip_locked: bool = False,
    send_along: Callable[[], None] | None = None,
) -> list[LockedProcess]:
    """Lock the processes of these steps as ``lock`` does; a step never changes its process.

    ``send_along`` may send more statements in the same round trip, which run under the locks.
    """
    condition = dialect.among_found("t.id", _owners())
    return _lock(
        condition, siblings(), step_ids, now, skip_locked, is_whole=True, send_along=send_along
    )


def siblings() -> str:
    """Return the FROM clause for all steps t of the processes whose steps a parameter lists."""
    return dialect.of_each("workers_step", "process_id", of=_owners())


def lock_only(
    step_ids: Sequence[int], now: datetime | None, *, skip_locked: bool = False
) -> list[LockedProcess]:
    """Lock as ``lock_of`` does, but read only these steps, without input and results.

    For callers that need no other steps.  Each id may occur only once.
    """
    steps = dialect.of_each("workers_step", "id")
    condition = dialect.among_found("t.id", _owners())
    return _lock(condition, steps, step_ids, now, skip_locked, is_whole=False)


def _owners() -> str:
    """Return SQL for the processes of the steps that a parameter lists.

    ``+ 0`` keeps the planner from reading a whole index for their order.
    """
    return (
        f"SELECT DISTINCT s.process_id + 0 AS id FROM workers_step s WHERE {dialect.among('s.id')}"
    )


def _lock(
    condition: str,
    steps: str,
    ids: Sequence[int],
    now: datetime | None,
    skip_locked: bool,
    *,
    is_whole: bool,
    send_along: Callable[[], None] | None = None,
) -> list[LockedProcess]:
    if not ids:
        return []
    input_sql = dialect.if_small("t.input") if is_whole else "NULL"
    result_sql = dialect.if_small("t.result") if is_whole else "NULL"
    with dialect.pipelined():
        read_processes = dialect.send(
            f"SELECT {_PROCESS_SELECT}, {input_sql} FROM workers_process t WHERE {condition}"
            " ORDER BY t.id " + dialect.lock_rows("t", skip_locked=skip_locked),
            [dialect.id_list(ids)],
        )
        # As text, because it is repeated in every row; at this point the lock is held.
        moment, params = dialect.clock(now)
        read_steps = dialect.send(
            f"SELECT {_STEP_SELECT}, {result_sql}, (SELECT CAST({moment} AS text)) FROM {steps}"
            " ORDER BY t.process_id, t.position",
            [*params, dialect.id_list(ids)],
        )
        if send_along is not None:
            send_along()
    process_rows, step_rows = read_processes(), read_steps()
    if not step_rows:
        return []
    at = dialect.instant(step_rows[0][-1])
    assert at is not None
    is_postgres = dialect.is_postgres()
    processes = {}
    for values in _read(process_rows, _fixes(ProcessRow, is_postgres)):
        text = values.pop()
        process = ProcessRow(*values)
        processes[process.id] = locked = LockedProcess(process, [], at)
        locked.process_as_read, locked.input_as_read = values, text
    known = Spec.of(row[_SPEC] for row in step_rows)
    for values in _read(step_rows, _fixes(StepRow, is_postgres)):
        values.pop()
        text = values.pop()
        values[_SPEC] = known[values[_SPEC]]
        step = StepRow(*values)
        # Skip steps of processes another session holds.
        if (owner := processes.get(step.process_id)) is not None:
            owner.steps.append(step)
            owner.steps_as_read[step.id] = values
            if text is not None:
                owner.results_as_read[step.id] = text
    return list(processes.values())


def write(
    processes: Sequence[LockedProcess],
    decide: Callable[[], None] | None = None,
    *,
    is_last: bool = False,
) -> None:
    """Write every row that moved, with its journal entries and alerts.

    Must run inside the transaction that took the locks.  With ``decide``, sends the steps that
    moved first, and what ``decide`` moves after that: with pipelined statements, the database
    writes the former while the latter is decided.  ``decide`` may send no statement whose answer
    it must read, and move no step that an agent may be at work on, because the first write locks
    those in order.  With ``is_last``, the COMMIT may be sent along (``transactions.writes``).
    Raises ``LostRow``, so that the transaction rolls back, if a row is no longer as read: agents
    start claims and file replies without the process lock.
    """
    if not processes:
        return
    with transactions.writes(is_last=is_last) as checks:
        if decide is not None:
            checks.extend(write_part(processes, only_steps=True))
            _count_as_read(processes)
            decide()
        checks.extend(write_part(processes))
    _free_places(processes)


def count_as_written(locked: LockedProcess) -> list[Entry]:
    """Take a process's written values as its new origin; return its journal entries.

    Later moves need another ``write``.
    """
    _count_as_read([locked])
    locked.process_as_read, locked.process_origin = save.process_values_of(locked.process), None
    entries, locked.entries, locked.alerts = locked.entries, [], []
    return entries


def _count_as_read(processes: Sequence[LockedProcess]) -> None:
    """Take the sent values of steps as their new origin, so that only later moves are written."""
    for locked in processes:
        for step in locked.steps:
            if step.id in locked.step_origins:
                locked.steps_as_read[step.id] = save.values_of(step)
        locked.step_origins = {}


def decide_and_write(
    processes: Sequence[LockedProcess], decide: Callable[[LockedProcess], None]
) -> None:
    """Decide about each process and write it, as ``write`` does with ``is_last``, in parts.

    With pipelined statements, the database writes a part while the next is decided.  ``decide``
    may send no statement.
    """
    if not processes:
        return
    in_order = sorted(processes, key=lambda locked: locked.steps[0].id)
    ids = [step.id for locked in in_order for step in locked.steps]
    with transactions.writes(is_last=True) as checks:
        if ids != sorted(ids):
            # The parts would not be locked in primary-key order.
            save.lock_steps(ids)
        for begin in range(0, len(in_order), PART):
            part = in_order[begin : begin + PART]
            for locked in part:
                decide(locked)
            checks.extend(write_part(part))
    _free_places(processes)


def _free_places(processes: Sequence[LockedProcess]) -> None:
    """Un-block the next steps of keys in which the written moves may have freed a place."""
    freed = {key: agent for locked in processes for key, agent in locked.freed_keys.items()}
    if freed:
        transactions.before_commit(key_places.unblock, freed)


def write_part(processes: Sequence[LockedProcess], *, only_steps: bool = False) -> list[Check]:
    """Send the rows that moved, in a ``pipelined`` block; return the checks to run after it."""
    checks = save.steps([locked for locked in processes if locked.step_origins])
    if only_steps:
        return checks
    checks += save.processes([locked for locked in processes if locked.process_origin is not None])
    child_rows.end(processes)
    journal.write([entry for locked in processes for entry in locked.entries], processes[0].now)
    log_lines.write_after_commit(processes)
    alerts.write([call for locked in processes for call in locked.alerts], processes[0].now)
    sinks.announce([locked for locked in processes if locked.has_news])
    return checks


def insert_planned(processes: Sequence[LockedProcess]) -> None:
    """Insert the planned undo steps, waiting, and add them to their processes."""
    specs.keep(planned.spec for locked in processes for planned in locked.planned)
    for locked in processes:
        if not locked.planned:
            continue
        rows = Step.objects.bulk_create(
            [
                Step(
                    process_id=locked.process.id,
                    name=planned.name,
                    position=len(locked.steps) + index,
                    agent=planned.agent,
                    spec_digest=planned.spec.digest,
                    turn=locked.process.turn or locked.now,
                    undoes_id=planned.forward.id,
                    failure_threshold=int(sas.undo_threshold),
                    idempotency_key=f"{planned.forward.idempotency_key}:undo",
                    limit_key=limit_keys.of_agent(
                        planned.agent,
                        (planned.forward.spec.undo or {}).get("per_key"),
                        locked.process.limit_values,
                    ),
                )
                for index, planned in enumerate(locked.planned)
            ]
        )
        for row, planned in zip(rows, locked.planned, strict=True):
            values = {name: getattr(row, name) for name in _STEP_FIELDS}
            step = StepRow(**values, spec=planned.spec)
            locked.steps.append(step)
            locked.steps_as_read[step.id] = save.values_of(step)
        locked.planned = []
