"""Write back moved rows: only the columns that changed, in as few statements as possible.

Rows that changed in the same columns share a statement.  A value that is the same in all of them
is sent once; only differing values are sent as a set of rows.
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
from workers.store import specs
from workers.store.db import bulk_update, dialect, prepared_plans
from workers.store.db.columns import columns_of
from workers.store.db.transactions import Check, LostRow

#: Columns never updated here: those that no rule changes, and those that are not read, which
#: ``_add_documents`` handles.
_NEVER_UPDATED = frozenset(
    {
        *("id", "process_id", "subject", "workflow", "version", "turn"),
        *(
            "on_deadline",
            "has_on_end",
            "group_id",
            "is_told",
            "name",
            "undoes_id",
            "is_filed",
            "result",
        ),
        *("limit_values", "exclusive"),
    }
)
PROCESS_COLUMNS, STEP_COLUMNS = (
    tuple(field.name for field in fields(row) if field.name not in _NEVER_UPDATED)
    for row in (ProcessRow, StepRow)
)
#: The kinds of the columns, and of the values as read, which are the conditions of a write.
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
    """Return getters of the writable columns, for a row in memory and for the values as read."""
    names = [field.name for field in fields(row)]
    return attrgetter(*columns), itemgetter(*(names.index(name) for name in columns))


_of_process, _of_process_as_read = _values(ProcessRow, PROCESS_COLUMNS)
_of_step, _of_step_as_read = _values(StepRow, STEP_COLUMNS)
_SEQUENCE, _ATTEMPT = PROCESS_COLUMNS.index("sequence"), STEP_COLUMNS.index("attempt")

#: Column -> its new value.
Change = dict[str, Any]
#: A row of a statement's row set: its id, its change, and its values as read (``was_...``).
Row = dict[str, Any]
#: Names of changed columns -> the rows that changed in these columns.
ByColumns = dict[tuple[str, ...], list[Row]]


def values_of(step: StepRow) -> list[Any]:
    """Return a step's values in the order of its fields, as the store reads them."""
    return list(_all_values(step))


def process_values_of(process: ProcessRow) -> list[Any]:
    """Return a process's values in the order of its fields, as the store reads them."""
    return list(_all_process_values(process))


def processes(processes: Sequence[LockedProcess]) -> list[Check]:
    """Write processes that moved; return checks that each was still as read.

    The last public sequence number is one of the conditions: no two journal rows may share one.
    """
    changes = []
    for locked in processes:
        as_read = _of_process_as_read(locked.process_as_read)
        change = _changed(PROCESS_COLUMNS, as_read, _of_process(locked.process))
        was = {"was_state": locked.process_origin, "was_sequence": as_read[_SEQUENCE]}
        changes.append((locked.process.id, change, was))
    return [
        _update("workers_process", _PROCESS_KINDS, names, rows)
        for names, rows in _by_columns(changes).items()
    ]


def steps(processes: Sequence[LockedProcess]) -> list[Check]:
    """Write steps that moved; return checks that each was still as read.

    Agents start claims and file replies without the process lock, so every write has as its
    conditions the claim, whether it was started, and whether a reply is filed.  So is the
    attempt: no two claims of a step ever have the same number.
    """
    changes, owners = [], {}
    new_specs = []
    for locked in processes:
        for step in locked.steps:
            origin = locked.step_origins.get(step.id)
            if origin is not None:
                owners[step.id] = locked
                as_read = _of_step_as_read(locked.steps_as_read[step.id])
                change = _changed(STEP_COLUMNS, as_read, _of_step(step))
                if step.complete_by is not None:
                    # After an outage it is extended without the process lock, but decisions
                    # made here used the value as read.
                    change["complete_by"] = step.complete_by
                if change.pop("spec", None) is not None:
                    new_specs.append(step.spec)
                    change["spec_digest"] = step.spec.digest
                _add_documents(change, step, origin)
                was = {
                    "was_state": origin.state,
                    "was_claim": origin.claim_id,
                    "was_started": origin.is_started,
                    "was_filed": origin.is_filed,
                    "was_attempt": as_read[_ATTEMPT],
                }
                changes.append((step.id, change, was))
    specs.keep(new_specs)
    by_columns = _by_columns(changes)
    # The other steps are only written under the process lock, which is held.
    at_work = [ids for rows in by_columns.values() if (ids := _at_work(rows))]
    # A single statement with a kept plan writes its rows in that order anyway.
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
        for names, rows in by_columns.items()
    ]


def _at_work(rows: Sequence[Row]) -> list[int]:
    return [row["id"] for row in rows if row["was_state"] == StepState.PROCESSING]


def _add_documents(change: Change, step: StepRow, origin: Origin) -> None:
    """Add the columns that were not read, and turn the fault into JSON.

    A filed reply is dropped with its claim; a result stays as long as its step is processed or
    compensated.
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
    """Return the columns that changed since they were read."""
    return {
        name: new
        for name, old, new in zip(columns, before, after, strict=True)
        # Compare None by identity: comparing a UUID with None is slow.
        if new is not old and (new is None or old is None or new != old)
    }


#: SQL conditions that a row is as read, by the name of the value.
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


def _by_columns(changes: Sequence[tuple[int, Change, Row]]) -> ByColumns:
    """Group rows by the columns in which they changed."""
    by_columns: ByColumns = defaultdict(list)
    for row_id, change, was in changes:
        by_columns[tuple(change)].append({"id": row_id, **change, **was})
    return by_columns


def _update(
    table: str,
    kinds: dict[str, str],
    names: tuple[str, ...],
    rows: list[Row],
    note_result: Callable[[int, str | None], None] | None = None,
) -> Check:
    """Write rows that changed in the same columns; pass each result to ``note_result``."""
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
    read_written = bulk_update.send_update(
        table,
        varying,
        [{name: row[name] for name in varying} for row in rows],
        # A touched row may be unchanged: its conditions are checked all the same.
        assign or '"state" = t."state"',
        where,
        params=params,
        same={name: (kinds[name], first[name]) for name in conditions if name in same},
        are_locked=True,
        must_match=True,
        returning="result" if note_result is not None else "",
    )

    def check() -> None:
        rows_written = read_written()
        if missing_ids := {row["id"] for row in rows} - {row[0] for row in rows_written}:
            raise LostRow(f"Rows {sorted(missing_ids)} are not as they were read under their lock.")
        if note_result is not None:
            for row in rows_written:
                note_result(*row)

    return check


def _is_same(name: str, rows: list[Row]) -> bool:
    first, last = rows[0][name], rows[-1][name]
    # If any differ, the first and the last mostly do.
    return first == last and all(row[name] == first for row in rows)


def lock_steps(ids: list[int]) -> None:
    """Lock steps in primary-key order before the first write, so that no two sessions deadlock."""
    if dialect.is_postgres():
        dialect.send(
            f"SELECT 1 FROM workers_step t WHERE {dialect.among('t.id')} ORDER BY t.id "
            + dialect.lock_rows("t"),
            [dialect.id_list(ids)],
        )
