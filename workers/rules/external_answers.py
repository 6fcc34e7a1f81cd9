"""Apply answers from outside: callbacks, events, and people.  Pure.

An answer is valid once, whatever the step's current claim.  One that comes before the step has
asked, or while a call is under way that may ask, is kept until the step has asked or ended.  A
person who answers a step that has asked no one is refused at once.
"""

from enum import StrEnum
from random import Random
from typing import Any, Protocol

from workers.protocol.faults import FaultRecord
from workers.rules import apply_reply, evidence, late_success
from workers.rules.overdue_answers import UNANSWERED, permission_to_answer
from workers.rules.refusals import refused
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import PEOPLE, ProcessState, StepState


class Outcome(StrEnum):
    """What became of an answer."""

    #: It ended the step.
    ACCEPTED = "accepted"
    #: It came early and waits for the step.
    KEPT = "kept"
    #: The step already has its answer: nothing has changed.
    REPEATED = "repeated"
    #: The step no longer wants it, or it is not final: no step ended.  A success after an undo is
    #: kept in the journal, and the undo is called once more.
    IGNORED = "ignored"


class HasAnswer(Protocol):
    """A step, as a row of the store or of a page."""

    @property
    def early(self) -> Any: ...

    @property
    def result(self) -> Any: ...

    @property
    def fault(self) -> Any: ...


def answer(
    locked: LockedProcess,
    step: StepRow,
    body: dict[str, Any],
    actor: str,
    rng: Random | None = None,
) -> Outcome:
    """Apply an answer, ``{"result"}`` or ``{"fault"}``, to a step.

    Raises ``StateError``, changing nothing, for a person's answer to a step that has asked no one.
    """
    is_person = actor.startswith(PEOPLE)
    if not is_person and body.get("fault") is None and late_success.is_late(locked, step):
        is_news = late_success.take(locked, step, body, actor)
        return Outcome.IGNORED if is_news else Outcome.REPEATED
    if step.state in (StepState.PROCESSED, StepState.SKIPPED, StepState.COMPENSATED):
        return Outcome.REPEATED
    is_wanted = step.state == StepState.PROCESSING or not locked.is_given_up(step)
    if step.state == StepState.CANCELLED or not is_wanted:
        return Outcome.IGNORED
    # A "no" to a step that has failed changes nothing, and may repeat an earlier answer.
    is_moot = step.state == StepState.ERROR and body.get("fault") is not None
    if is_person and not (is_moot or may_be_asking(step)):
        if step.early is not None:
            # An answer is already kept, and the step has not asked: add nothing.
            return Outcome.REPEATED
        raise refused("asks_nobody", step=step.name, state=step.state)
    if not _has_asked(step):
        return _keep(locked, step, body, actor)
    fault = FaultRecord.from_json(body.get("fault"))
    is_final = fault is None or fault.kind not in ("unavailable", "transient")
    is_reported = fault is not None and step.state == StepState.ERROR
    if step.state != StepState.PROCESSING and (is_reported or not is_final):
        # Operators were alerted already, or the step will be retried anyway.
        return Outcome.IGNORED
    was_in_error = step.state == StepState.ERROR
    if fault is None:
        locked.touch(step)
        evidence.ended_well(step)
        apply_reply.apply_result(locked, step, body.get("result") or {}, actor, answered="callback")
    else:
        apply_reply.apply_fault(locked, step, fault, actor, rng)
    if was_in_error:
        resume(locked, actor)
    return Outcome.ACCEPTED


def is_same(step: HasAnswer, body: dict[str, Any]) -> bool:
    """Say whether an answer is the one that the step has."""
    if step.early is not None:
        return all(step.early.get(name) == body.get(name) for name in ("result", "fault"))
    fault = FaultRecord.from_json(body.get("fault"))
    if fault is None:
        return step.result is not None and step.result == body["result"]
    own = FaultRecord.from_json(step.fault)
    return own is not None and (own.code, own.message) == (fault.code, fault.message)


def resume(locked: LockedProcess, actor: str) -> None:
    """Resume a process whose last step in error has been dealt with."""
    if locked.process.state != ProcessState.ERROR:
        return
    # A step that asks blocks only the steps that come after it.
    failed = [step for step in locked.active_steps if step.state == StepState.ERROR]
    if all(step.spec.on_failure == "ask" for step in failed):
        locked.move_process(locked.active_state, "resumed", actor)


def report_progress(locked: LockedProcess, step: StepRow, progress: dict[str, Any]) -> bool:
    """Record the progress of deferred work.  False: the step does not wait for it."""
    if step.deferral is None:
        return False
    locked.touch(step)
    step.deferral = {**step.deferral, "progress": progress, "reported_at": locked.now.isoformat()}
    return True


def may_be_asking(step: StepRow) -> bool:
    """Say whether a person may have been asked about a step, or may still be asked.

    A step that waits for a service has asked no one: a person's word is not the service's proof.
    A step that was called and waits no longer has asked only if its time for the answer is over.
    """
    if step.is_deferred or (step.fault is not None and step.fault.code == UNANSWERED.code):
        return bool(permission_to_answer(step))
    return step.state == StepState.WAITING or step.attempt == 0


def _has_asked(step: StepRow) -> bool:
    """Say whether a service may know about this step while no call of it is under way."""
    if step.state == StepState.WAITING or step.is_at_work:
        return False
    return step.is_deferred or not evidence.is_none(step) or step.state == StepState.ERROR


def _keep(locked: LockedProcess, step: StepRow, body: dict[str, Any], actor: str) -> Outcome:
    if step.early is not None:
        return Outcome.REPEATED
    if body.get("fault") is not None and step.attempt > 0 and not step.is_at_work:
        # The answer belongs to an attempt that has already ended.
        return Outcome.IGNORED
    locked.touch(step)
    step.early = {**body, "is_persons": True} if actor.startswith(PEOPLE) else body
    locked.note("answer_kept", actor, step=step, detail={"step": step.name})
    return Outcome.KEPT
