"""Whether the effect of a step happened; kept apart from the fault, which says what to do next.

Every decision that could lose money asks here, and nowhere else: undo, fall-back, skip,
cancel, begin again, answers, and steps that a restored database may have forgotten.  Pure.

Three columns hold the evidence: ``may_have_effect``, set by the start and cleared only by proof;
``is_in_doubt``: a call with the current key ended without a known outcome; and ``is_by_hand``: a
person did the work, whatever a service may have done as well.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from workers.definitions.effects import Effect
from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow
from workers.states import StepState

#: The fault on a processed step that may have been undone in what a restored database lost.
MAY_BE_UNDONE = FaultRecord(
    "transient",
    "may_be_undone",
    "it may have been undone since the restored time: look at its service",
)


class Evidence(StrEnum):
    """What is known of an effect."""

    #: Never called, not sent, or refused in a way that its agent declares as proof.
    NONE = "none"
    #: A call is under way, or ended without a known outcome.
    POSSIBLE = "possible"
    #: An answer confirms it.
    CERTAIN = "certain"
    #: A person did it: no service can undo it.
    BY_HAND = "by hand"
    #: It was undone.
    UNDONE = "undone"


class HasEvidence(Protocol):
    """A step, as a row of the store or of a page."""

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
    """Say whether there is nothing to undo: the step may be dropped, or given to another agent."""
    return not step.may_have_effect


def may_have_been_called(step: StepRow) -> bool:
    """Say whether a call may have been made, also one that this database has lost."""
    return step.attempt > 0 or step.may_have_effect or is_lost(step)


def is_proved_early(step: StepRow) -> bool:
    """Say whether the early answer of a step that was called is a success, and not a person's."""
    is_success = step.early is not None and step.early.get("fault") is None
    is_persons = step.early is not None and bool(step.early.get("is_persons"))
    return is_success and not is_persons and step.attempt > 0 and step.spec.effect != Effect.NONE


def needs_undo(step: StepRow) -> bool:
    """Say whether undoing a process must undo this step: a call under way may yet succeed."""
    return not is_none(step) or step.is_at_work


def is_doubtful(step: StepRow, now: datetime) -> bool:
    """Say whether a step may have had its effect, which only a person can find out."""
    return step.is_in_doubt and _is_beyond_finding_out(step, now)


def is_forgotten(step: StepRow, now: datetime) -> bool:
    """Say whether the effect is possible, and its service no longer knows the key of the call.

    A success that came late has proved it, so its undo knows what to undo.
    """
    return (
        step.spec.effect == Effect.IDEMPOTENT
        and of(step) == Evidence.POSSIBLE
        and step.state != StepState.PROCESSED
        and step.early is None
        and _is_beyond_finding_out(step, now)
    )


def _is_beyond_finding_out(step: StepRow, now: datetime) -> bool:
    """Say whether only a person can still find out what a call in doubt did.

    Unsafe calls are never repeated; calls of a service that forgets keys are repeated only
    within its retention, counted from the first call with the key.
    """
    spec, used_at = step.spec, step.key_used_at
    if spec.effect == Effect.UNSAFE:
        return True
    if spec.effect != Effect.IDEMPOTENT or spec.key_retention_seconds is None or used_at is None:
        return False
    return now >= used_at + timedelta(seconds=spec.key_retention_seconds)


def begin(step: StepRow, now: datetime) -> None:
    """Record that a call begins: from now on its effect is possible."""
    step.may_have_effect = step.spec.effect != Effect.NONE
    step.key_used_at = step.key_used_at or now


def ended_well(step: StepRow) -> None:
    """Record that an answer confirms the effect, whatever was recorded before."""
    step.may_have_effect, step.is_in_doubt = step.spec.effect != Effect.NONE, False


def ended_with(step: StepRow, fault: FaultRecord) -> None:
    """Record what a fault proves: nothing, unless the code that raised it says so."""
    if fault.no_effect is True:
        had_none(step)
    else:
        ended_silent(step)


def ended_silent(step: StepRow) -> None:
    """Record that a call ended without a known outcome: no answer, a crash, or an unclear fault."""
    step.is_in_doubt = step.may_have_effect


def had_none(step: StepRow) -> None:
    """Record proof that the current call had no effect.

    A doubt that an earlier call left stays: the service that refuses now, perhaps a gateway, need
    not know about that call.
    """
    step.may_have_effect = step.is_in_doubt
    if not step.is_in_doubt:
        # No call took effect under this key, so its retention has not begun.
        step.key_used_at = None


def done_by_hand(step: StepRow) -> None:
    """Record that a person did the work, or confirms that it happened.

    A doubt that a call left stays: the service may have done the work, too.
    """
    # A service that accepted the call may yet do the work.
    doubt = step.is_in_doubt or (step.is_deferred and step.may_have_effect)
    ended_well(step)
    step.is_by_hand, step.is_in_doubt = step.may_have_effect, doubt


def happened_beside(step: StepRow) -> None:
    """Record a success of the service for a step that a person did by hand or left out."""
    step.may_have_effect = step.is_in_doubt = True


def undone(step: StepRow) -> None:
    """Record that the effect was undone; what a person did stays known as such."""
    step.may_have_effect = step.is_in_doubt = False


def nothing_happened(step: StepRow) -> None:
    """Record that a person found out that nothing happened."""
    step.may_have_effect = step.is_in_doubt = False
    step.key_used_at = None


def may_happen_twice(step: StepRow) -> None:
    """Record that a person has a doubtful call repeated: its effect stays possible."""
    step.is_in_doubt = False
    step.key_used_at = None


def may_be_undone(step: StepRow, now: datetime) -> bool:
    """Record that a processed step may have been undone, without a trace in this database.

    False: the step is not known to be done, or nothing can undo it.
    """
    if step.state != StepState.PROCESSED or is_none(step) or not step.has_undo:
        return False
    step.is_in_doubt = True
    step.fault = MAY_BE_UNDONE.noted(now)
    return True


def lost_what_followed(step: StepRow) -> None:
    """Record that this database lacks calls of the step and of its undo, under any of its keys.

    Its service may repeat an answer of which the effect has been undone since.  The mark is on the
    undo, so that it outlives answers, faults, fall-backs and new keys.
    """
    if step.spec.undo is not None:
        step.spec = replace(step.spec, undo={**step.spec.undo, "is_lost": True})


def ended_after_loss(step: StepRow, now: datetime) -> None:
    """Record for a step just processed that its answer may be older than its undo."""
    if is_lost(step) and not step.is_by_hand:
        may_be_undone(step, now)


def is_lost(step: StepRow) -> bool:
    """Say whether this database lacks calls of the step."""
    return step.spec.undo is not None and bool(step.spec.undo.get("is_lost"))


def is_unknown_at_end(step: StepRow) -> bool:
    """Say whether nobody knows if an ended process had this effect, had it twice, or undid it.

    An optional step that failed has an alert of its own.
    """
    if step.state == StepState.SKIPPED and step.spec.is_optional and step.fault is not None:
        return False
    is_twice = of(step) == Evidence.BY_HAND and step.is_in_doubt
    return is_twice or of(step) == Evidence.POSSIBLE


def may_have_run(step: StepRow, since: datetime) -> None:
    """Record that the step may have been called since then, without a trace in this database."""
    if step.spec.effect == Effect.NONE:
        return
    step.may_have_effect = step.is_in_doubt = True
    step.key_used_at = step.key_used_at or since
