"""Writing back what moved: only the columns that changed, in as few statements as possible.

Rows that changed alike are one statement.  What is the same for all of them is said once,
and only what differs travels as a set of rows.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from operator import attrgetter, itemgetter
from typing import Any

from workers.models import Process, Step
from workers.rules.rows import Origin, ProcessRow, StepRow
from workers.rules.transitions import LockedProcess
from workers.states import StepState
from workers.store.db import bulk_update, dialect, prepared_plans
from workers.store.db.columns import columns_of
from workers.store.db.transactions import Check, LostRow

#: What stays as it was made, and what is not read: no rule changes the one, and
#: ``_add_documents`` sees to the other.
_AS_MADE = frozenset(
    {
        *("id", "process_id", "subject", "workflow", "version", "turn"),
        *("on_deadline", "has_on_end", "is_told", "name", "after", "undoes_id", "is_optional"),
        *("on_failure", "wait_seconds", "delay_seconds", "is_judged", "total_seconds"),
        *("backoff_base_seconds", "backoff_cap_seconds", "is_filed", "result"),
    }
)
PROCESS_COLUMNS, STEP_COLUMNS = (
    tuple(field.name for field in fields(row) if field.name not in _AS_MADE)
    for row in (ProcessRow, StepRow)
)
#: With what a row was when it was read, the condition of its write.
_PROCESS_KINDS = {**columns_of(Process), "was_state": "text", "was_sequence": "int"}
_STEP_KINDS = {
    **columns_of(Step),
    "was_state": "text",
    "was_claim": "uuid",
    "was_started": "bool",
    "was_filed": "bool",
    "was_attempt": "int",
}
_WITH_RESULT = ("processed", "compensated")
_all_values = attrgetter(*(field.name for field in fields(StepRow)))
_all_process_values = attrgetter(*(field.name for field in fields(ProcessRow)))


_Values = Callable[[Any], tuple[Any, ...]]


def _values(row: type, columns: Iterable[str]) -> tuple[_Values, _Values]:
    """Return how to take the columns that may be written from a row, and from what was read."""
    names = [field.name for field in fields(row)]
    return attrgetter(*columns), itemgetter(*(names.index(name) for name in columns))


_of_process, _of_process_as_read = _values(ProcessRow, PROCESS_COLUMNS)
_of_step, _of_step_as_read = _values(StepRow, STEP_COLUMNS)
_SEQUENCE, _ATTEMPT = PROCESS_COLUMNS.index("sequence"), STEP_COLUMNS.index("attempt")

#: Column -> its new value.
Change = dict[str, Any]
#: What a statement needs of a row: its id, its change, and what it was (``was_...``).
Row = dict[str, Any]
#: The columns in which rows changed -> the rows.
Alike = dict[tuple[str, ...], list[Row]]


def values_of(step: StepRow) -> list[Any]:
    """Return a step's values in the order of its fields, as the store reads them."""
    return list(_all_values(step))


def process_values_of(process: ProcessRow) -> list[Any]:
    """Return a process's values in the order of its fields, as the store reads them."""
    return list(_all_process_values(process))


def processes(lockeds: Sequence[LockedProcess]) -> list[Check]:
    """Write processes that moved; return what makes sure that each was as it was read.

    The number of the last row that a submitter may see is a condition: no two rows have the same.
    """
    changes = []
    for locked in lockeds:
        as_read = _of_process_as_read(locked.process_as_read)
        change = _changed(PROCESS_COLUMNS, as_read, _of_process(locked.process))
        was = {"was_state": locked.process_origin, "was_sequence": as_read[_SEQUENCE]}
        changes.append((locked.process.id, change, was))
    return [
        _update("workers_process", _PROCESS_KINDS, names, rows)
        for names, rows in _alike(changes).items()
    ]


def steps(lockeds: Sequence[LockedProcess]) -> list[Check]:
    """Write steps that moved; return what makes sure that each was as it was read.

    Agents start claims and file replies without the process lock: the claim, whether it was
    started, and whether a reply is filed are conditions of every write.  So is the attempt: no
    two claims of a step ever have the same number.
    """
    changes, owners = [], {}
    for locked in lockeds:
        for step in locked.steps:
            origin = locked.step_origins.get(step.id)
            if origin is not None:
                owners[step.id] = locked
                as_read = _of_step_as_read(locked.steps_as_read[step.id])
                change = _changed(STEP_COLUMNS, as_read, _of_step(step))
                if step.complete_by is not None:
                    # After an outage it is extended without the process lock: what was decided
                    # here had the one that was read.
                    change["complete_by"] = step.complete_by
                _add_documents(change, step, origin)
                was = {
                    "was_state": origin.state,
                    "was_claim": origin.claim_id,
                    "was_started": origin.is_started,
                    "was_filed": origin.is_filed,
                    "was_attempt": as_read[_ATTEMPT],
                }
                changes.append((step.id, change, was))
    alike = _alike(changes)
    # Nobody else writes the others without the process lock, which is held.
    at_work = [ids for rows in alike.values() if (ids := _at_work(rows))]
    # One statement by a plan that is kept goes through its rows in that order anyway.
    if sum(map(len, at_work)) > 1 and not (len(at_work) == 1 and prepared_plans.is_kept()):
        lock_steps([step_id for ids in at_work for step_id in ids])

    def note_result(step_id: int, text: str | None) -> None:
        if text is None:
            owners[step_id].results_as_read.pop(step_id, None)
        else:
            owners[step_id].results_as_read[step_id] = text

    return [
        _update(
            "workers_step", _STEP_KINDS, names, rows, note_result if "result" in names else None
        )
        for names, rows in alike.items()
    ]


def _at_work(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows if row["was_state"] == StepState.PROCESSING]


def _add_documents(change: Change, step: StepRow, origin: Origin) -> None:
    """Add what becomes of the columns that were not read, and have its fault as JSON.

    A filed reply belongs to its claim and goes with it; a result stays as long as its step
    is processed.
    """
    if step.fault is not None and "fault" in change:
        change["fault"] = step.fault.to_json()
    if origin.is_filed and (step.claim_id is None or step.deferral is not None):
        change["reply"] = None
    if step.state in _WITH_RESULT:
        if step.result is not None:
            change["result"] = step.result
    elif origin.state in _WITH_RESULT:
        change["result"] = None


def _changed(columns: Iterable[str], before: tuple[Any, ...], after: tuple[Any, ...]) -> Change:
    """Return the columns that are not as they were read."""
    return {
        name: new
        for name, old, new in zip(columns, before, after, strict=True)
        # None is told from the rest by what it is: to ask a UUID whether it equals None takes long.
        if new is not old and (new is None or old is None or new != old)
    }


#: SQL by which a row of the database is as it was read, by the name of what was read.
_AS_READ = {
    "state": "t.state = {}",
    "started": "(t.started_at IS NOT NULL) = {}",
    "filed": "(t.reply IS NOT NULL) = {}",
    "attempt": "t.attempt = {}",
    "sequence": "t.sequence = {}",
}


def _same(name: str) -> str:
    if name == "claim":
        return f"t.claim_id {'IS NOT DISTINCT FROM' if dialect.is_postgres() else 'IS'} {{}}"
    return _AS_READ[name]


def _alike(changes: Sequence[tuple[int, Change, Row]]) -> Alike:
    """Gather rows by the columns in which they changed."""
    alike: Alike = defaultdict(list)
    for row_id, change, was in changes:
        alike[tuple(change)].append({"id": row_id, **change, **was})
    return alike


def _update(
    table: str,
    kinds: dict[str, str],
    names: tuple[str, ...],
    rows: list[Row],
    note_result: Callable[[int, str | None], None] | None = None,
) -> Check:
    """Write rows that changed in the same columns; ``note_result`` is told the results of each."""
    first = rows[0]
    same = {name for name in first if name != "id" and _is_same(name, rows)}
    varying = {"id": "id"} | {name: kinds[name] for name in first if name not in same | {"id"}}
    params: list[Any] = []

    def value(name: str) -> str:
        expression, param = dialect.typed(kinds[name], first[name])
        params.extend(param)
        return expression

    assign = ", ".join(
        f'"{name}" = {value(name)}' if name in same else f'"{name}" = v."{name}"' for name in names
    )
    conditions = [name for name in first if name.startswith("was_")]
    where = " AND ".join(
        _same(name.removeprefix("was_")).format(f'v."{name}"') for name in conditions
    )
    landed = bulk_update.send_update(
        table,
        varying,
        [{name: row[name] for name in varying} for row in rows],
        # A row may have been touched and be as it was: its conditions are looked at all the same.
        assign or '"state" = t."state"',
        where,
        params=params,
        same={name: (kinds[name], first[name]) for name in conditions if name in same},
        are_locked=True,
        must_land=True,
        returning="result" if note_result is not None else "",
    )

    def check() -> None:
        rows_landed = landed()
        if missing := {row["id"] for row in rows} - {row[0] for row in rows_landed}:
            raise LostRow(f"Rows {sorted(missing)} are not as they were read under their lock.")
        if note_result is not None:
            for row in rows_landed:
                note_result(*row)

    return check


def _is_same(name: str, rows: list[Row]) -> bool:
    first, last = rows[0][name], rows[-1][name]
    # Where they differ, the first and the last mostly do.
    return first == last and all(row[name] == first for row in rows)


def lock_steps(ids: list[int]) -> None:
    """Lock steps in primary-key order before any is written, so that no two sessions deadlock."""
    if dialect.is_postgres():
        dialect.send(
            f"SELECT 1 FROM workers_step t WHERE {dialect.among('t.id')} ORDER BY t.id "
            + dialect.lock_rows("t"),
            [dialect.id_list(ids)],
        )
