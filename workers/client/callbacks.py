"""Answers to deferred steps, from outside: by token, or by the step's name.

A token is made from the step's idempotency key, so it can be handed to a remote service
before the call.  It is valid whatever the step's current claim, and void once the step has
begun again with a new key.
"""

from datetime import datetime
from typing import Any

from workers.exceptions import BadToken, Fault
from workers.models import Step
from workers.protocol import callback_tokens
from workers.protocol.faults import FaultRecord
from workers.protocol.messages import storable
from workers.rules.external_answers import Outcome
from workers.store.operate import record_answers
from workers.wire.wake_ups import wake_scheduler


class NoSuchStep(BadToken):
    """A token that was made here, for a step that this database no longer has."""

    def __init__(self, key: str) -> None:
        super().__init__(record_answers.OVER)
        self.key = key


def step_of(token: str) -> tuple[str, int, str]:
    """Return (key, process id, step name) for a token; raise ``BadToken``."""
    key = callback_tokens.read(token)
    step = record_answers.by_key(key)
    if step is None:
        raise NoSuchStep(key)
    return key, *step


def find_step(key: str) -> Step | None:
    """Return the step that has this idempotency key, or had it before it began again, or None.

    It is read with its process, by indexes: for webhooks of services that repeat the key.
    """
    found = record_answers.by_key(key)
    if found is None:
        return None
    process_id, name = found
    return Step.objects.select_related("process").filter(process_id=process_id, name=name).first()


def complete(
    token: str, result: dict[str, Any] | None = None, now: datetime | None = None
) -> Outcome:
    """Answer a deferred step with its result.

    Repeating an answer is harmless: the second has no effect and returns ``repeated``.
    Raises ``BadToken``, and ``MessageError`` for a result that cannot be stored.
    """
    try:
        key, process_id, step = step_of(token)
    except NoSuchStep as error:
        record_answers.tell_of_lost_rows(error.key, now)
        raise
    body = _body(result)
    return _wake(record_answers.answer(process_id, step, body, actor="callback", key=key, now=now))


def _body(result: dict[str, Any] | None) -> dict[str, Any]:
    # None alone is an empty result.
    answer = {} if result is None else result
    storable(answer)
    return {"result": answer}


def fail(token: str, fault: Fault, now: datetime | None = None) -> Outcome:
    """Answer a deferred step with a fault, as its agent would have raised it."""
    key, process_id, step = step_of(token)
    body = {"fault": FaultRecord.of(fault).to_json()}
    return _wake(record_answers.answer(process_id, step, body, actor="callback", key=key, now=now))


def progress(token: str, progress: dict[str, Any], now: datetime | None = None) -> bool:
    """Report the progress of deferred work, for people.  False: the step no longer waits."""
    key, process_id, step = step_of(token)
    storable(progress, "progress")
    return record_answers.report_progress(process_id, step, progress, key=key, now=now)


def complete_step(
    process_id: int,
    step: str,
    result: dict[str, Any] | None = None,
    *,
    actor: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> Outcome:
    """Answer a step by its name: for events of the application, and for people.

    An answer that comes before the step has asked is kept, and taken when it asks.
    Raises ``StateError`` when there is no such process or step.
    """
    body = _body(result)
    return _wake(
        record_answers.answer(process_id, step, body, actor=actor, sequence=sequence, now=now)
    )


def fail_step(
    process_id: int,
    step: str,
    fault: Fault,
    *,
    actor: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> Outcome:
    """Answer a step by its name with a fault."""
    body = {"fault": FaultRecord.of(fault).to_json()}
    return _wake(
        record_answers.answer(process_id, step, body, actor=actor, sequence=sequence, now=now)
    )


def _wake(outcome: Outcome) -> Outcome:
    if outcome == Outcome.ACCEPTED:
        wake_scheduler()
    return outcome
