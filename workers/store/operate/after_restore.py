"""After a restore of the database to an earlier time, mark what may have happened since."""

from collections.abc import Collection, Sequence
from datetime import datetime

from workers.definitions.effects import Effect
from workers.exceptions import StateError
from workers.rules import evidence
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.states import FINAL_PROCESS_STATES, StepState
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.settle.carry_on import carry_on

#: States in which a step may have run after the restored time, without a trace in this database.
_MAY_HAVE_RUN = (
    StepState.WAITING,
    StepState.PENDING,
    StepState.PROCESSING,
    # An operator may have resubmitted it.
    StepState.ERROR,
)
#: SQL that is true if the journal row ``j`` marked a process after an instant.
_MARKED = "j.event = 'restored' AND j.step_id IS NULL AND j.at > %s"


def check_since(
    since: datetime, now: datetime | None = None, *, until: datetime | None = None
) -> None:
    """Raise ``StateError`` unless this database can be as it was at ``since``.

    ``until``: the system ran again from then on, so newer rows prove nothing.  An earlier run that
    was cut off may have begun to mark: this one goes on from there.
    """
    clock = dialect.read_clock(now)
    if since > clock:
        raise StateError(f"{since:%Y-%m-%d %H:%M:%S} UTC is still to come.")
    if until is not None:
        if not since < until <= clock:
            raise StateError(
                f"--until must lie between --since and now, got {until:%Y-%m-%d %H:%M:%S} UTC."
            )
        return
    rows = dialect.fetch(
        "SELECT max(at) FROM workers_journal WHERE at > %s AND actor NOT IN"
        f" (SELECT j.actor FROM workers_journal j WHERE {_MARKED})",
        [dialect.instant_text(since)] * 2,
    )
    newest = dialect.instant(rows[0][0])
    if newest is not None:
        raise StateError(
            f"The newest journal row is from {newest:%Y-%m-%d %H:%M:%S.%f} UTC, later than "
            f"{since:%Y-%m-%d %H:%M:%S.%f}: this is not the database as it was then. Give "
            f"--since {newest.isoformat()} if nothing has run since; else add --until, the time "
            "from which nothing is missing, such as now."
        )


def open_processes(
    since: datetime, after: int, limit: int, until: datetime | None = None
) -> list[int]:
    """Return the next processes from before ``until`` that are neither final nor marked yet."""
    condition, params = "", []
    if until is not None:
        condition, params = " AND p.created_at <= %s", [dialect.instant_text(until)]
    return [
        row[0]
        for row in dialect.fetch(
            "SELECT p.id FROM workers_process p WHERE p.id > %s"
            f" AND p.state IN ('pending', 'processing', 'error', 'compensating'){condition}"
            f" AND NOT EXISTS (SELECT 1 FROM workers_journal j WHERE j.process_id = p.id"
            f" AND {_MARKED}) ORDER BY p.id LIMIT %s",
            [after, *params, dialect.instant_text(since), limit],
        )
    ]


@load.again_when_lost
def mark(
    process_ids: Sequence[int],
    since: datetime,
    *,
    actor: str,
    now: datetime | None = None,
    until: datetime | None = None,
    local: Collection[str] = (),
) -> int:
    """Mark every step that may have run since ``since`` as in doubt; return how many.

    ``local`` names the agents whose effects are rows of this database: their steps need no doubt.

    Voids claims, because their workers are gone; with ``until``, later claims still hold.  A step
    in doubt keeps its idempotency key, so a service that honours it does nothing twice; a service
    that can be asked is asked; an unsafe step goes to an operator.
    """
    storable_text.check("actor", actor)
    marked = 0
    with durable("after_restore.mark"):
        processes = load.lock(process_ids, now)
        for locked in processes:
            if locked.process.state not in FINAL_PROCESS_STATES:
                marked += _mark(locked, since, actor, until, local)
        carry_on(processes, actor, now)
    return marked


def _mark(
    locked: LockedProcess,
    since: datetime,
    actor: str,
    until: datetime | None,
    local: Collection[str],
) -> int:
    # A filed reply was restored together with its agent's writes, so its outcome is known.
    steps = [
        step
        for step in locked.steps
        if step.state in _MAY_HAVE_RUN and step.spec.effect != Effect.NONE and not step.is_filed
    ]
    live = {
        step.id
        for step in locked.steps
        if until is not None and step.started_at is not None and step.started_at > until
    }
    for step in steps:
        locked.touch(step)
        evidence.may_have_run(step, since)
    perhaps = _perhaps_undone(locked, local)
    for step in locked.steps:
        if step.state != StepState.PROCESSING or step.is_deferred or step.is_filed:
            continue
        if step.id in live:
            continue
        step.not_before = locked.now
        locked.release(step, "restored", actor, reason="its claim is void")
    locked.note(
        "restored",
        actor,
        public=True,
        detail={
            "since": since.isoformat(),
            "in_doubt": [step.name for step in steps],
            **({"may_be_undone": perhaps} if perhaps else {}),
            **({"until": until.isoformat()} if until is not None else {}),
        },
    )
    return len(steps)


def _perhaps_undone(locked: LockedProcess, local: Collection[str]) -> list[str]:
    """Mark the steps that may have been undone since; return the names of those that are done."""
    perhaps = []
    for step in locked.forward_steps:
        if step.spec.undo is None or step.agent in local:
            continue
        locked.touch(step)
        evidence.lost_what_followed(step)
        # The undo of a given-up step finds out; others may stay while one begins again.
        if not locked.is_given_up(step) and evidence.may_be_undone(step, locked.now):
            perhaps.append(step.name)
    return perhaps
