"""What a process tells its child groups, and the group that it is a child of.

A child that ends writes its own child row and nothing of its parent.  A parent tells its groups
under its own lock: a group is locked after a process, never before one.
"""

from collections import defaultdict
from collections.abc import Sequence

from workers.definitions.children import CHILDREN
from workers.rules.transitions import LockedProcess
from workers.states import FINAL_PROCESS_STATES, StepState
from workers.store.db import dialect


def has_ended(locked: LockedProcess) -> bool:
    """Say whether a child has ended: its group has to count it."""
    return locked.process.group_id is not None and locked.process.state in FINAL_PROCESS_STATES


def end(processes: Sequence[LockedProcess]) -> None:
    """Write that children have ended, each in its own row; once, however often they end."""
    ids = defaultdict(list)
    for locked in processes:
        if locked.process_origin is not None and has_ended(locked):
            ids[locked.process.state].append(locked.process.id)
    for state, process_ids in sorted(ids.items()):
        dialect.execute(
            "UPDATE workers_child SET state = 'ended', outcome = %s"
            f" WHERE {dialect.among('process_id')} AND state = 'open'",
            [str(state), dialect.id_list(process_ids)],
        )


class GroupNews:
    """What parents have to tell their groups; most processes have none."""

    def __init__(self, processes: Sequence[LockedProcess]) -> None:
        #: Steps whose children are no more born or undone, and those whose groups are looked at.
        self._left: list[int] = []
        self._moved: list[int] = []
        for locked in processes:
            for step in locked.steps:
                if step.agent != CHILDREN:
                    continue
                forward_id = step.undoes_id or step.id
                origin = locked.step_origins.get(step.id)
                if origin and origin.is_deferred and step.state != StepState.PROCESSING:
                    self._left.append(forward_id)
                elif locked.process_origin is not None:
                    self._moved.append(forward_id)

    def __bool__(self) -> bool:
        return bool(self._left or self._moved)

    def write(self) -> None:
        """Write it, before flow rows are locked: whoever bears children may wait for those."""
        for step_ids, assign in (
            (self._left, "stopped = true, is_undoing = false, is_flagged = is_paused"),
            (self._moved, "is_flagged = true"),
        ):
            if step_ids:
                dialect.execute(
                    f"UPDATE workers_childgroup SET {assign} WHERE {dialect.among('step_id')}"
                    " AND (NOT stopped OR is_undoing OR is_paused)",
                    [dialect.id_list(sorted(set(step_ids)))],
                )
