"""Hold back the move that ends a process until the application's ``on_end`` has run."""

from workers.rules.rows import Entry
from workers.rules.transitions import LockedProcess
from workers.states import ENDED_PROCESS_STATES


def hold(locked: LockedProcess) -> Entry | None:
    """Revert the move that has just ended a process; return its journal entry.

    None: the process has not ended, or its workflow has no ``on_end``.  All other decisions
    stay, so ``end`` may follow at once, or never: the process then stands still until the
    Scheduler looks at it again.
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
    """Make the held move, as the last move of the process."""
    assert ending.after is not None
    locked.move_process(ending.after, ending.event, ending.actor, **ending.detail)
