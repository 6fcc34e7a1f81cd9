"""A person's answer to a step: taken, or refused with what is so.

Machines repeat their answers and are told ``repeated`` (``callbacks``); a person who is told
that believes to have been heard.
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


def by_person(
    process_id: int,
    step: str,
    answer: dict[str, Any] | Fault,
    *,
    actor: str,
    sequence: int | None = None,
) -> Outcome:
    """Answer a step with a result or a fault; the same answer once more is a success.

    Raises ``StateError`` for one that changes nothing.
    """
    if isinstance(answer, Fault):
        body = {"fault": FaultRecord.of(answer).to_json()}
        outcome = callbacks.fail_step(process_id, step, answer, actor=actor, sequence=sequence)
    else:
        body = {"result": answer}
        outcome = callbacks.complete_step(process_id, step, answer, actor=actor, sequence=sequence)
    if outcome in (Outcome.ACCEPTED, Outcome.KEPT):
        return outcome
    row = Step.objects.get(process_id=process_id, name=step)
    if is_same(row, body):
        return Outcome.REPEATED
    raise _why_not(row)


def _why_not(row: Step) -> StateError:
    """Return why an answer to a step changes nothing."""
    entries = list(Journal.objects.filter(process_id=row.process_id, step=row).order_by("id"))
    if row.early is not None:
        return _by("answer_kept", row, _last(entries, "answer_kept"))
    was_asked = any(entry.event in ("deferred", "answer_kept") for entry in entries)
    if row.state == StepState.PROCESSED and not was_asked:
        return _by("never_asked", row, _last(entries, "processed"))
    answered = _last(entries, "processed", "refused") if was_asked else None
    if answered is None:
        return refused("answer_unwanted", step=row.name, state=row.state)
    # Of an early answer the step's end was written by whoever asked.
    said = _last(entries, "answer_kept") or answered
    return _by("answer_accepted" if answered.event == "processed" else "answer_declined", row, said)


def _last(entries: Sequence[Journal], *events: str) -> Journal | None:
    return next((entry for entry in reversed(entries) if entry.event in events), None)


def _by(code: str, row: Step, entry: Journal | None) -> StateError:
    # The journal may have been pruned.
    who = entry.actor.removeprefix(PEOPLE) if entry else "?"
    return refused(code, step=row.name, actor=who, at=full(entry.at) if entry else "?")
