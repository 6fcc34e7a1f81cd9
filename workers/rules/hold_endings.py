"""The move that ends a process, taken back until the application has heard of it."""

from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.states import ENDED_PROCESS_STATES


def hold(locked: LockedProcess) -> Entry | None:
    """Take back the move that ended a process just now; return its journal entry.

    None: it has not ended, or its workflow has no ``on_end``.  Everything else that was
    decided stays, so ``end`` may follow at once, or never: the process then stands still until
    it is looked at again.
    """
    if not locked.process.has_on_end or locked.process.state not in ENDED_PROCESS_STATES:
        return None
    ending = next(
        (
            entry
            for entry in reversed(locked.entries)
            if entry.step_id is None and entry.before and entry.after == locked.process.state
        ),
        None,
    )
    if ending is None or ending.before is None or ending.sequence is None:
        return None
    locked.entries.remove(ending)
    for entry in locked.entries:
        if entry.sequence is not None and entry.sequence > ending.sequence:
            entry.sequence -= 1
    locked.process.sequence -= 1
    locked.process.state = ending.before
    locked.process.finished_at = None
    return ending


def end(locked: LockedProcess, ending: Entry) -> None:
    """Make the move that was held, as the process's last."""
    assert ending.after is not None
    locked.move_process(ending.after, ending.event, ending.actor, **ending.detail)
