"""After the database was restored to an earlier time: mark what may have happened since."""

from collections.abc import Sequence
from datetime import datetime

from workers.definitions.effects import Effect
from workers.exceptions import StateError
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.states import FINAL_PROCESS_STATES, StepState
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.settle import settle_replies

#: States in which a step may have run, after the time of the restore, without a trace here.
_MAY_HAVE_RUN = (
    StepState.WAITING,
    StepState.PENDING,
    StepState.PROCESSING,
    # An operator may have resubmitted it.
    StepState.ERROR,
)
#: SQL that says of the journal row ``j`` whether a process was marked, after an instant.
_MARKED = "j.event = 'restored' AND j.step_id IS NULL AND j.at > %s"


def check_since(since: datetime, now: datetime | None = None) -> None:
    """Raise ``StateError`` unless this can be a database as it was at ``since``.

    An earlier run that was cut off may have begun to mark: this one goes on from there.
    """
    if since > dialect.read_clock(now):
        raise StateError(f"{since:%Y-%m-%d %H:%M:%S} UTC is still to come.")
    found = dialect.fetch(
        "SELECT max(at) FROM workers_journal WHERE at > %s AND actor NOT IN"
        f" (SELECT j.actor FROM workers_journal j WHERE {_MARKED})",
        [dialect.instant_text(since)] * 2,
    )
    newest = dialect.instant(found[0][0])
    if newest is not None:
        raise StateError(
            f"The newest journal row is from {newest:%Y-%m-%d %H:%M:%S} UTC, later than "
            f"{since:%Y-%m-%d %H:%M:%S}: this is not the database as it was then. Run this before "
            "anything else is started, and give the time that was restored to."
        )


def open_processes(since: datetime, after: int, limit: int) -> list[int]:
    """Return the next processes that are not final and not marked yet, by id."""
    return [
        row[0]
        for row in dialect.fetch(
            "SELECT p.id FROM workers_process p WHERE p.id > %s"
            " AND p.state IN ('pending', 'processing', 'error', 'compensating')"
            f" AND NOT EXISTS (SELECT 1 FROM workers_journal j WHERE j.process_id = p.id"
            f" AND {_MARKED}) ORDER BY p.id LIMIT %s",
            [after, dialect.instant_text(since), limit],
        )
    ]


@load.again_when_lost
def mark(
    process_ids: Sequence[int], since: datetime, *, actor: str, now: datetime | None = None
) -> int:
    """Put every step in doubt that may have run since ``since``; return how many.

    Claims are void: whoever held them is gone.  A step in doubt keeps its idempotency key,
    so a service that honours it does nothing twice; one that can be asked is asked; an
    unsafe one goes to an operator.
    """
    storable_text.check("actor", actor)
    marked = 0
    with durable("after_restore.mark"):
        lockeds = load.lock(process_ids, now)
        for locked in lockeds:
            if locked.process.state not in FINAL_PROCESS_STATES:
                marked += _mark(locked, since, actor)
        settle_replies.go_on(lockeds, actor, now, claim=False)
    return marked


def _mark(locked: LockedProcess, since: datetime, actor: str) -> int:
    # A filed reply was restored with all that its agent wrote: it says what happened.
    found = [
        step
        for step in locked.steps
        if step.state in _MAY_HAVE_RUN and step.effect != Effect.NONE and not step.is_filed
    ]
    for step in found:
        locked.touch(step)
        step.may_have_effect = step.is_in_doubt = True
        step.key_used_at = step.key_used_at or since
    for step in locked.steps:
        if step.state != StepState.PROCESSING or step.is_deferred or step.is_filed:
            continue
        step.not_before = locked.now
        locked.release(step, "restored", actor, reason="its claim is void")
    locked.note(
        "restored",
        actor,
        public=True,
        detail={"since": since.isoformat(), "in_doubt": [step.name for step in found]},
    )
    return len(found)
