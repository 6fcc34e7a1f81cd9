"""Operations on a process, its sinks, an agent and a hold.

Each wakes the role that has to go on.

All raise ``StateError``, and change nothing, if the state forbids the operation, if a process
has moved since ``sequence``, or if there is none.  ``actor`` and ``reason`` are kept in the
journal.
"""

from datetime import datetime
from functools import partial

from workers.rules import compensation
from workers.states import ProcessState
from workers.store import sinks
from workers.store.flow import flow_settings, holds
from workers.store.operate import commands, undo_requests
from workers.store.operate import edit_input as editing
from workers.store.operate import erase as erasing
from workers.wire.wake_ups import wake_relay, wake_scheduler, waking

_waking = partial(waking, wake_scheduler)

# These leave nothing to claim.
pause = commands.pause
hold = holds.hold
edit_input = editing.edit_input
erase = erasing.erase
ask_for_approval = undo_requests.ask

resume = _waking(commands.resume)
retry = _waking(commands.retry_now)
resubmit = _waking(commands.resubmit)
redo = _waking(commands.redo)
undo = _waking(commands.undo)
begin_again = _waking(commands.begin_again)
decide_approval = _waking(undo_requests.decide)
retime = _waking(commands.retime)
complete = _waking(commands.complete)
skip = _waking(commands.skip)
lift = _waking(holds.lift)
set_flow = _waking(flow_settings.set_flow)
redeliver = waking(wake_relay, sinks.redeliver)


def cancel(
    process_id: int,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> compensation.Plan:
    """Undo what was done and end as cancelled; return the plan.

    Refused once the process is final, is being undone, or has passed its point of no return.
    """
    return undo(
        process_id,
        outcome=ProcessState.CANCELLED,
        actor=actor,
        reason=reason,
        sequence=sequence,
        now=now,
    )
