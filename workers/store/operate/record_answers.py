"""Answers from outside: callbacks by key, events and people by the step's name."""

from datetime import datetime
from typing import Any
from uuid import UUID

from workers.exceptions import BadToken
from workers.rules import external_answers
from workers.rules.approved_acts import TAKEN
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import commands, two_persons
from workers.store.settle.carry_on import carry_on

#: What is said of a token whose key is no step's any more.
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
    """Answer a step, ``{"result"}`` or ``{"fault"}``, whatever its present claim.

    Raises ``StateError`` when there is no such process or step, when the process has moved
    since ``sequence`` or a person alone may not answer, and ``BadToken`` when ``key`` is not the
    step's key any more.
    """
    storable_text.check("actor", actor)
    known = two_persons.worth([process_id], actor)
    with durable("record_answers.answer"):
        locked = commands.lock(process_id, sequence, now)
        step = locked.named(step_name)
        if key is not None and step.idempotency_key != key:
            raise BadToken(OVER)
        outcome = external_answers.answer(locked, step, body, actor)
        if outcome in TAKEN:
            two_persons.refuse_alone(locked, [step.name], actor, known)
        # Claimed by the poll or a nudge: whoever answers sends nothing.
        carry_on([locked], actor, now, claim=False)
    return outcome


@load.again_when_lost
def report_progress(
    process_id: int,
    step_name: str,
    progress: dict[str, Any],
    *,
    key: str,
    now: datetime | None = None,
) -> bool:
    """Note how far deferred work has come.  False: the step does not wait for it."""
    with durable("record_answers.report_progress"):
        locked = commands.lock(process_id, None, now)
        step = next((one for one in locked.steps if one.name == step_name), None)
        if step is None or step.idempotency_key != key:
            raise BadToken(OVER)
        noted = external_answers.report_progress(locked, step, progress)
        load.write([locked])
    return noted


def by_key(key: str) -> tuple[int, str] | None:
    """Return (process, step name) of the step whose present idempotency key that is."""
    # Found by the process whose uid it begins with, so that keys need no index of their own.
    try:
        uid = UUID(hex=key.partition(":")[0])
    except ValueError:
        return None
    found = dialect.fetch(
        "SELECT s.process_id, s.name FROM workers_process p"
        " JOIN workers_step s ON s.process_id = p.id"
        " WHERE p.uid = %s AND s.idempotency_key = %s",
        [uid if dialect.is_postgres() else uid.hex, key],
    )
    return (found[0][0], found[0][1]) if found else None
