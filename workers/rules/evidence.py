"""Whether the effect of a step happened: told apart from the fault, which says what to do next.

Everything that may be wrong about money asks here, and nowhere else: undo, fall-back, skip,
cancel, begin again, answers, and what a restored database may have forgotten.  Pure.

The rows keep it in three columns: ``may_have_effect``, set by the start and cleared only by proof;
``is_in_doubt``, which says that a call with the present key has ended without telling; and
``is_by_hand``, which says that a person did it, whatever a service may have done beside.
"""

from datetime import datetime
from enum import StrEnum
from typing import Protocol

from workers.definitions.effects import Effect
from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow
from workers.states import StepState

#: What a restored database notes of a step that it knows as done.
MAY_BE_UNDONE = FaultRecord(
    "transient",
    "may_be_undone",
    "it may have been undone since the restored time: look at its service",
)


class Evidence(StrEnum):
    """What is known of an effect."""

    #: Never called, not sent, or refused in a way that its agent declares as proof.
    NONE = "none"
    #: A call is under way, or has ended without telling.
    POSSIBLE = "possible"
    #: An answer says so.
    CERTAIN = "certain"
    #: A person says so: no service can undo it.
    BY_HAND = "by hand"
    #: It was undone.
    UNDONE = "undone"


class HasEvidence(Protocol):
    """A step, as the store or a page has it."""

    @property
    def state(self) -> str: ...

    @property
    def may_have_effect(self) -> bool: ...

    @property
    def is_in_doubt(self) -> bool: ...

    @property
    def is_by_hand(self) -> bool: ...


def of(step: HasEvidence) -> Evidence:
    """Return what is known of the effect of a step."""
    if not step.may_have_effect:
        return Evidence.UNDONE if step.state == StepState.COMPENSATED else Evidence.NONE
    if step.is_by_hand:
        return Evidence.BY_HAND
    is_certain = step.state == StepState.PROCESSED and not step.is_in_doubt
    return Evidence.CERTAIN if is_certain else Evidence.POSSIBLE


def is_none(step: StepRow) -> bool:
    """Say whether there is nothing to undo: another agent may be asked, and it may be dropped."""
    return not step.may_have_effect


def needs_undo(step: StepRow) -> bool:
    """Say whether undoing a process has to undo this step: a call under way may yet do it."""
    return not is_none(step) or step.is_at_work


def begin(step: StepRow, now: datetime) -> None:
    """Note that a call begins: from now on its effect is possible."""
    step.may_have_effect = step.effect != Effect.NONE
    step.key_used_at = step.key_used_at or now


def ended_well(step: StepRow) -> None:
    """Note that an answer says it happened, whatever was said of it before."""
    step.may_have_effect, step.is_in_doubt = step.effect != Effect.NONE, False


def ended_with(step: StepRow, fault: FaultRecord) -> None:
    """Note what a fault proves: nothing, unless whoever raised it says so."""
    if fault.no_effect is True:
        had_none(step)
    else:
        ended_silent(step)


def ended_silent(step: StepRow) -> None:
    """Note that a call ended without telling: no answer, a crash, or one that proves nothing."""
    step.is_in_doubt = step.may_have_effect


def had_none(step: StepRow) -> None:
    """Note proof that the present call had no effect.

    What an earlier call left in doubt stays in doubt: who refuses now, a gateway perhaps, need not
    know of it.
    """
    step.may_have_effect = step.is_in_doubt
    if not step.is_in_doubt:
        # Nothing happened under this key: its retention has not begun.
        step.key_used_at = None


def done_by_hand(step: StepRow) -> None:
    """Note that a person did it, or says that it happened.

    What a call left in doubt stays in doubt: the service may have done it, too.
    """
    doubt = step.is_in_doubt
    ended_well(step)
    step.is_by_hand, step.is_in_doubt = step.may_have_effect, doubt


def undone(step: StepRow) -> None:
    """Note that what was done is undone."""
    step.may_have_effect = step.is_in_doubt = step.is_by_hand = False


def nothing_happened(step: StepRow) -> None:
    """Note that a person found out that nothing happened."""
    step.may_have_effect = step.is_in_doubt = False
    step.key_used_at = None


def may_happen_twice(step: StepRow) -> None:
    """Note that a person wants a call repeated that may have had its effect: it stays possible."""
    step.is_in_doubt = False
    step.key_used_at = None


def may_be_undone(step: StepRow, now: datetime) -> bool:
    """Note of a step that is done that it may have been undone, without a trace here.

    False: nothing is known to be done, or nothing can undo it.
    """
    if step.state != StepState.PROCESSED or is_none(step) or not step.has_undo:
        return False
    step.is_in_doubt = True
    step.fault = MAY_BE_UNDONE.noted(now)
    return True


def is_perhaps_undone(step: StepRow) -> bool:
    """Say whether a step is done and may have been undone, without a trace here."""
    code = step.fault.code if step.fault is not None else None
    return step.state == StepState.PROCESSED and code == MAY_BE_UNDONE.code


def may_have_run(step: StepRow, since: datetime) -> None:
    """Note that the step may have been called since an instant, without a trace here."""
    if step.effect == Effect.NONE:
        return
    step.may_have_effect = step.is_in_doubt = True
    step.key_used_at = step.key_used_at or since
