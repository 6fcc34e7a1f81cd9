"""A person's answer to a step: taken, or refused with the reason.

Machines repeat their answers and get ``repeated`` (``callbacks``); a person who got that would
believe that the answer counted.
"""

from collections.abc import Sequence
from typing import Any

from workers.client import callbacks
from workers.exceptions import Fault, StateError
from workers.models import Journal, Step
from workers.protocol.faults import FaultRecord
from workers.rules.external_answers import Outcome, is_same
from workers.rules.refusals import refused
from workers.runtime.timestamps import full
from workers.states import PEOPLE, StepState


def body_of(answer: dict[str, Any] | Fault) -> dict[str, Any]:
    """Return an answer in the store's format."""
    if isinstance(answer, Fault):
        return {"fault": FaultRecord.of(answer).to_json()}
    return {"result": answer}


def by_person(
    process_id: int,
    step: str,
    answer: dict[str, Any] | Fault,
    *,
    actor: str,
    sequence: int | None = None,
) -> Outcome:
    """Answer a step with a result or a fault; repeating an answer succeeds.

    Raises ``StateError`` for an answer that changes nothing.
    """
    if isinstance(answer, Fault):
        outcome = callbacks.fail_step(process_id, step, answer, actor=actor, sequence=sequence)
    else:
        outcome = callbacks.complete_step(process_id, step, answer, actor=actor, sequence=sequence)
    if outcome in (Outcome.ACCEPTED, Outcome.KEPT):
        return outcome
    row = Step.objects.get(process_id=process_id, name=step)
    if is_same(row, body_of(answer)):
        return Outcome.REPEATED
    raise _why_not(row)


def _why_not(row: Step) -> StateError:
    """Return why an answer to a step changes nothing."""
    entries = list(Journal.objects.filter(process_id=row.process_id, step=row).order_by("id"))
    if row.early is not None:
        return _by("answer_kept", row, _last(entries, "answer_kept"))
    # Taking an early answer leaves no entry of its own.
    last = _last(entries, "deferred", "answer_kept", "nobody_asked")
    was_asked = last is not None and last.event != "nobody_asked"
    if row.state == StepState.PROCESSED and not was_asked:
        return _by("never_asked", row, _last(entries, "processed"))
    answered = _last(entries, "processed", "refused") if was_asked else None
    if answered is None:
        return refused("answer_unwanted", step=row.name, state=row.state)
    # An early answer ended the step, in an entry of the call that asked.
    entry = _last(entries, "answer_kept") or answered
    code = "answer_accepted" if answered.event == "processed" else "answer_declined"
    return _by(code, row, entry)


def _last(entries: Sequence[Journal], *events: str) -> Journal | None:
    return next((entry for entry in reversed(entries) if entry.event in events), None)


def _by(code: str, row: Step, entry: Journal | None) -> StateError:
    # The journal may have been pruned.
    actor = entry.actor.removeprefix(PEOPLE) if entry else "?"
    return refused(code, step=row.name, actor=actor, at=full(entry.at) if entry else "?")
