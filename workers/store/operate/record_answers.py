"""Record answers from outside: callbacks by key, events and people by the step's name."""

from datetime import datetime
from typing import Any
from uuid import UUID

from workers.definitions.effects import Effect
from workers.exceptions import BadToken
from workers.rules import external_answers, late_success
from workers.rules.approved_acts import TAKEN
from workers.rules.rows import AlertCall, StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store import alerts
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import steering, two_persons
from workers.store.settle.carry_on import carry_on

#: The error for a token whose key no step has any more.
OVER = "This callback token is over: what it was for has been undone, or begun again."


@load.again_when_lost
def answer(
    process_id: int,
    step_name: str,
    body: dict[str, Any],
    *,
    actor: str,
    key: str | None = None,
    sequence: int | None = None,
    now: datetime | None = None,
) -> external_answers.Outcome:
    """Answer a step, ``{"result"}`` or ``{"fault"}``, whatever its current claim.

    Raises ``StateError`` if there is no such process or step, if the process has moved since
    ``sequence``, or if a person alone may not answer; and ``BadToken`` if ``key`` is no longer the
    step's key.
    """
    storable_text.check("actor", actor)
    amounts = two_persons.worth([process_id], actor)
    with durable("record_answers.answer"):
        locked = steering.lock(process_id, sequence, now)
        step = locked.named(step_name)
        if key is not None and step.idempotency_key != key:
            outcome = _take_former(locked, step, key, body, actor)
        else:
            outcome = external_answers.answer(locked, step, body, actor)
        if outcome in TAKEN:
            two_persons.refuse_alone(locked, [step.name], actor, amounts)
        # The poll or a wake-up claims what became ready: this caller sends no messages.
        carry_on([locked], actor, now)
    return outcome


def _take_former(
    locked: LockedProcess, step: StepRow, key: str, body: dict[str, Any], actor: str
) -> external_answers.Outcome:
    """Keep a success of a call under a former key of the step; raise ``BadToken`` for the rest."""
    if body.get("fault") is not None or step.spec.effect == Effect.NONE:
        raise BadToken(OVER)
    if not late_success.is_former(step, key):
        raise BadToken(OVER)
    rows = dialect.fetch(
        "SELECT detail FROM workers_journal WHERE step_id = %s AND event = 'late_success'",
        [step.id],
    )
    if any(dialect.document(detail).get("key") == key for (detail,) in rows):
        return external_answers.Outcome.REPEATED
    late_success.take_former(locked, step, key, body, actor)
    return external_answers.Outcome.IGNORED


def tell_of_lost_rows(key: str, now: datetime | None = None) -> None:
    """Raise the alert for a success whose step was pruned, or was lost with the database."""
    with durable("record_answers.tell_of_lost_rows"):
        call = AlertCall(f"late_success:{key}", "late_success", {"says": ["gone"], "key": key})
        alerts.write([call], dialect.read_clock(now))


@load.again_when_lost
def report_progress(
    process_id: int,
    step_name: str,
    progress: dict[str, Any],
    *,
    key: str,
    now: datetime | None = None,
) -> bool:
    """Record the progress of deferred work.  False: the step does not wait for it."""
    with durable("record_answers.report_progress"):
        locked = steering.lock(process_id, None, now)
        step = next((row for row in locked.steps if row.name == step_name), None)
        if step is None or step.idempotency_key != key:
            raise BadToken(OVER)
        noted = external_answers.report_progress(locked, step, progress)
        load.write([locked])
    return noted


def by_key(key: str) -> tuple[int, str] | None:
    """Return (process, step name) of the step that has or had this idempotency key."""
    # A new generation has another number after the same stem.
    stem = key.rpartition(":")[0] + ":"
    # The key begins with the process's uid, so that keys need no index of their own.
    try:
        uid = UUID(hex=key.partition(":")[0])
    except ValueError:
        return None
    rows = dialect.fetch(
        "SELECT s.process_id, s.name FROM workers_process p"
        " JOIN workers_step s ON s.process_id = p.id"
        " WHERE p.uid = %s AND (s.idempotency_key = %s OR s.undoes_id IS NULL"
        " AND substr(s.idempotency_key, 1, %s) = %s)",
        [uid if dialect.is_postgres() else uid.hex, key, len(stem), stem],
    )
    return (rows[0][0], rows[0][1]) if rows else None
