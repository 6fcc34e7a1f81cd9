"""Read the children of a step, in portions.  Changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workers.models import Child as ChildRow
from workers.models import Step
from workers.states import ChildState, ProcessState, StepState

#: How many are read at once.
PORTION = 500


@dataclass(frozen=True, slots=True)
class Child:
    """One child of a group."""

    #: Its place in the list that ``over`` returned, from 0.
    index: int
    #: Its input.
    item: dict[str, Any]
    #: The id of its process; None: it is not born yet, or was deleted.
    process: int | None
    #: The state of its process, or how that ended; ``queued``: it is not born yet.
    state: str
    #: The results of its steps that were done, by name.
    results: dict[str, dict[str, Any]]
    #: The last fault of its step in error, or else of the one that made it be undone.
    fault: dict[str, Any] | None


def children(group: int, state: str | None = None) -> Iterator[Child]:
    """Yield the children of a group by index, from 0; only those in a state, if one is given.

    The group's id is in the result of its step, as ``group``.  ``state`` is one of a process, or
    ``queued``; raises ``ValueError`` for another one.
    """
    known = {str(ChildState.QUEUED), *map(str, ProcessState)}
    if state is not None and state not in known:
        raise ValueError(f"state must be {', '.join(sorted(known))} or None, got {state!r}.")
    return _read(group, state)


def _read(group: int, state: str | None) -> Iterator[Child]:
    rows = ChildRow.objects.filter(group=group).order_by("index").select_related("process")
    if state == ChildState.QUEUED:
        rows = rows.filter(process=None, outcome=None)
    elif state is not None:
        rows = rows.filter(process__state=state)
    after = -1
    while portion := list(rows.filter(index__gt=after)[:PORTION]):
        yield from of_rows(portion)
        after = portion[-1].index


def of_rows(rows: list[ChildRow]) -> Iterator[Child]:
    """Yield the children of rows that were read with their processes; one query for all."""
    results: dict[int, dict[str, dict[str, Any]]] = {}
    faults: dict[int, dict[str, Any]] = {}
    ids = [row.process_id for row in rows if row.process_id is not None]
    steps = Step.objects.filter(process__in=ids).order_by("process_id", "position")
    for process_id, name, state, result, fault in steps.values_list(
        "process_id", "name", "state", "result", "fault"
    ):
        if result is not None:
            results.setdefault(process_id, {})[name] = result
        if fault is not None and (state == StepState.ERROR or process_id not in faults):
            faults[process_id] = fault
    for row in rows:
        process = row.process
        state = process.state if process is not None else row.outcome or row.state
        key = row.process_id or 0
        yield Child(
            row.index, row.item, row.process_id, state, results.get(key, {}), faults.get(key)
        )
