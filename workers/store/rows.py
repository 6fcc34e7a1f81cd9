"""Reading processes under their lock, and writing back the rows that moved."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from workers.conf import sas
from workers.exceptions import SASError
from workers.locked import LockedProcess
from workers.models import Step
from workers.rows import ProcessRow, StepRow
from workers.store import alerts, journal, sinks, sql

P = ParamSpec("P")
R = TypeVar("R")


class LostRow(SASError):
    """A row changed under its lock: a bug, or a database that was tampered with."""


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


_PROCESS_COLUMNS = {
    "id": "id",
    "state": "text",
    "outcome": "text",
    "sequence": "int",
    "needs_decision": "bool",
    "paused_at": "instant",
    "deadline_at": "instant",
    "renews": "json",
    "started_at": "instant",
    "finished_at": "instant",
}
_STEP_COLUMNS = {
    "id": "id",
    "state": "text",
    "agent": "text",
    "fallbacks": "json",
    "undo": "json",
    "claim_id": "uuid",
    "locked_by": "text",
    "claimed_at": "instant",
    "dispatch_by": "instant",
    "started_at": "instant",
    "complete_by": "instant",
    "delivery": "uuid",
    "deferral": "json",
    "escalate_at": "instant",
    "early": "json",
    "effect": "text",
    "key_retention_seconds": "int",
    "timeout_seconds": "int",
    "attempt": "int",
    "failure_count": "int",
    "failure_threshold": "int",
    "unavailable_count": "int",
    "lost_count": "int",
    "not_before": "instant",
    "began_at": "instant",
    "key_used_at": "instant",
    "idempotency_key": "text",
    "may_have_effect": "bool",
    "is_in_doubt": "bool",
    "result": "json",
    "fault": "json",
    "finished_at": "instant",
}
_READ: dict[str, Callable[[Any], Any]] = {
    **{name: sql.instant for name, kind in _STEP_COLUMNS.items() if kind == "instant"},
    **{name: sql.document for name, kind in _STEP_COLUMNS.items() if kind == "json"},
    "claim_id": sql.uuid,
    "delivery": sql.uuid,
    "after": sql.document,
    "may_have_effect": bool,
    "is_in_doubt": bool,
    "is_optional": bool,
    "is_judged": bool,
    "is_filed": bool,
}
# A result may be large and no decision looks at it.
_STEP_FIELDS = [field.name for field in fields(StepRow) if field.name != "result"]
_PROCESS_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("turn", "paused_at", "deadline_at"), sql.instant),
    **dict.fromkeys(("started_at", "finished_at"), sql.instant),
    "no_return": sql.document,
    "renews": sql.document,
    "needs_decision": bool,
    "is_told": bool,
}
_PROCESS_FIELDS = [field.name for field in fields(ProcessRow)]
_PROCESS_SELECT = ", ".join(
    sinks.IS_TOLD if name == "is_told" else f't."{name}"' for name in _PROCESS_FIELDS
)
_STEP_SELECT = ", ".join(
    "t.reply IS NOT NULL" if name == "is_filed" else f't."{name}"' for name in _STEP_FIELDS
)


def lock(
    process_ids: Iterable[int], now: datetime | None, *, skip_locked: bool = False
) -> list[LockedProcess]:
    """Lock processes in primary-key order and read them with their steps.

    Must run inside a transaction.  With ``skip_locked`` those that another session holds
    are left out.  The steps are read by a later statement than the lock: one whose snapshot
    is older than the wait for the lock would miss what the other session just committed.
    """
    ids = sorted(set(process_ids))
    if not ids:
        return []
    found = sql.fetch(
        f"SELECT {_PROCESS_SELECT} FROM workers_process t"
        f" WHERE {sql.among('t.id')} ORDER BY t.id " + sql.lock_rows("t", skip_locked=skip_locked),
        [sql.id_list(ids)],
    )
    processes = [ProcessRow(**_read(_PROCESS_FIELDS, _PROCESS_READ, row)) for row in found]
    steps: dict[int, list[StepRow]] = {process.id: [] for process in processes}
    for row in sql.fetch(
        f"SELECT {_STEP_SELECT} FROM workers_step t WHERE {sql.among('t.process_id')}"
        " ORDER BY t.process_id, t.position",
        [sql.id_list(list(steps))],
    ):
        step = StepRow(**_read(_STEP_FIELDS, _READ, row))
        steps[step.process_id].append(step)
    at = sql.read_clock(now)
    return [LockedProcess(process, steps[process.id], at) for process in processes]


def _read(
    names: list[str], read: dict[str, Callable[[Any], Any]], row: tuple[Any, ...]
) -> dict[str, Any]:
    return {
        name: read[name](value) if name in read else value
        for name, value in zip(names, row, strict=True)
    }


def write(lockeds: Sequence[LockedProcess]) -> None:
    """Write every row that moved, its journal entries and its alerts.

    Must run inside the transaction that took the locks.  Raises ``LostRow``, so that the
    transaction rolls back, when a row is not as it was read: agents start claims and file
    replies without the process lock.
    """
    moved = [locked for locked in lockeds if locked.process_origin is not None]
    _write_processes(moved)
    _write_steps([locked for locked in lockeds if locked.step_origins])
    if lockeds:
        journal.write([entry for locked in lockeds for entry in locked.entries], lockeds[0].now)
        alerts.write([call for locked in lockeds for call in locked.alerts], lockeds[0].now)
        sinks.announce([locked for locked in lockeds if locked.has_news])


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
        locked.steps += [
            StepRow(**{name: getattr(row, name) for name in _STEP_FIELDS if name != "is_filed"})
            for row in made
        ]
        locked.planned = []


def _write_processes(lockeds: list[LockedProcess]) -> None:
    if not lockeds:
        return
    statement = sql.update_from(
        "workers_process",
        {**_PROCESS_COLUMNS, "was_state": "text"},
        _assignments(_PROCESS_COLUMNS),
        "t.state = v.was_state",
    )
    rows = [
        {**_picked(locked.process, _PROCESS_COLUMNS), "was_state": locked.process_origin}
        for locked in lockeds
    ]
    _expect(rows, sql.fetch(statement, [sql.encode(rows)]))


def _write_steps(lockeds: list[LockedProcess]) -> None:
    rows: list[dict[str, Any]] = []
    for locked in lockeds:
        for step in locked.steps:
            if step.id in locked.step_origins:
                origin = locked.step_origins[step.id]
                rows.append(
                    {
                        **_picked(step, _STEP_COLUMNS),
                        "was_state": origin.state,
                        "was_claim": origin.claim_id,
                        "was_started": origin.is_started,
                        "was_filed": origin.is_filed,
                    }
                )
    if not rows:
        return
    same_claim = (
        "t.claim_id IS NOT DISTINCT FROM v.was_claim"
        if sql.is_postgres()
        else "t.claim_id IS v.was_claim"
    )
    statement = sql.update_from(
        "workers_step",
        {
            **_STEP_COLUMNS,
            "was_state": "text",
            "was_claim": "uuid",
            "was_started": "bool",
            "was_filed": "bool",
        },
        # A filed reply belongs to its claim and goes with it; a result, which was not read,
        # stays as long as its step is processed.
        _assignments({name: kind for name, kind in _STEP_COLUMNS.items() if name != "result"})
        + ", reply = CASE WHEN v.claim_id IS NOT NULL AND v.deferral IS NULL THEN t.reply END"
        + ", result = CASE WHEN v.state IN ('processed', 'compensated')"
        " THEN COALESCE(v.result, t.result) END",
        f"t.state = v.was_state AND {same_claim}"
        " AND (t.started_at IS NOT NULL) = v.was_started"
        " AND (t.reply IS NOT NULL) = v.was_filed",
    )
    _expect(rows, sql.fetch(statement, [sql.encode(rows)]))


def _assignments(columns: dict[str, str]) -> str:
    return ", ".join(f'"{name}" = v."{name}"' for name in columns if name != "id")


def _picked(row: Any, columns: dict[str, str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in columns}


def _expect(rows: list[dict[str, Any]], landed: list[tuple[Any, ...]]) -> None:
    if len(landed) != len(rows):
        missing = {row["id"] for row in rows} - {row[0] for row in landed}
        raise LostRow(f"Rows {sorted(missing)} are not as they were read under their lock.")
