"""Answers that come from outside: callbacks, events, and people.  Pure.

An answer is valid whatever the step's present claim, once.  One that comes before the step has
asked, or while a call is under way that may ask, is kept until that is known.  A person is told
at once that a step asks nobody.
"""

from enum import StrEnum
from random import Random
from typing import Any, Protocol

from workers.protocol.faults import FaultRecord
from workers.rules import apply_reply, evidence, late_success
from workers.rules.overdue_answers import UNANSWERED
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
    #: The step has had its answer: nothing was changed.
    REPEATED = "repeated"
    #: The step does not want it any more, or it says nothing final: it ended nothing.  A success
    #: after an undo is kept in the journal, and the undo is asked once more.
    IGNORED = "ignored"


class HasAnswer(Protocol):
    """A step as the store or a page has it."""

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

    Raises ``StateError``, changing nothing, for a person's answer to a step that asks nobody.
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
    # A "no" to what has failed changes nothing, and may be what was said before.
    is_moot = step.state == StepState.ERROR and body.get("fault") is not None
    if is_person and not (is_moot or may_be_asking(step)):
        if step.early is not None:
            # One that was kept is all that is known: nobody adds to what was not asked.
            return Outcome.REPEATED
        raise refused("asks_nobody", step=step.name, state=step.state)
    if not _has_asked(step):
        return _keep(locked, step, body, actor)
    fault = FaultRecord.from_json(body.get("fault"))
    is_final = fault is None or fault.kind not in ("unavailable", "transient")
    is_told = fault is not None and step.state == StepState.ERROR
    if step.state != StepState.PROCESSING and (is_told or not is_final):
        # An operator has it already, or it is to be tried again anyhow.
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
        return bool(step.early == body)
    fault = FaultRecord.from_json(body.get("fault"))
    if fault is None:
        return step.result is not None and step.result == body["result"]
    had = FaultRecord.from_json(step.fault)
    return had is not None and (had.code, had.message) == (fault.code, fault.message)


def resume(locked: LockedProcess, actor: str) -> None:
    """Let a process go on whose last step in error has been dealt with."""
    if locked.process.state != ProcessState.ERROR:
        return
    # A step that asks holds up what needs it, and nothing else.
    failed = [step for step in locked.active_steps if step.state == StepState.ERROR]
    if all(step.on_failure == "ask" for step in failed):
        locked.move_process(locked.active_state, "resumed", actor)


def report_progress(locked: LockedProcess, step: StepRow, progress: dict[str, Any]) -> bool:
    """Note how far deferred work has come.  False: the step does not wait for it."""
    if step.deferral is None:
        return False
    locked.touch(step)
    step.deferral = {**step.deferral, "progress": progress, "reported_at": locked.now.isoformat()}
    return True


def may_be_asking(step: StepRow) -> bool:
    """Say whether a person may have been asked about a step, or be asked yet.

    A step that was called and does not wait for an answer has asked nobody, unless its time for
    the answer is over.
    """
    if step.is_deferred or step.state == StepState.WAITING or step.attempt == 0:
        return True
    return step.fault is not None and step.fault.code == UNANSWERED.code


def _has_asked(step: StepRow) -> bool:
    """Say whether somebody outside may know of this step, and no call of it is under way."""
    if step.state == StepState.WAITING or step.is_at_work:
        return False
    return step.is_deferred or not evidence.is_none(step) or step.state == StepState.ERROR


def _keep(locked: LockedProcess, step: StepRow, body: dict[str, Any], actor: str) -> Outcome:
    if step.early is not None:
        return Outcome.REPEATED
    if body.get("fault") is not None and step.attempt > 0 and not step.is_at_work:
        # It belongs to an attempt that has ended and was dealt with.
        return Outcome.IGNORED
    locked.touch(step)
    step.early = body
    locked.note("answer_kept", actor, step=step, detail={"step": step.name})
    return Outcome.KEPT
