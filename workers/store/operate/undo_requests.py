"""Requests to undo what takes two persons: one asks, another decides, and what then happens.

The process's row is the lock of its requests.  Whoever asks or decides locks it first, so that of
two decisions one counts, and none is about a process that moves meanwhile.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from workers.exceptions import StateError
from workers.models import UndoRequest
from workers.rules import two_persons
from workers.rules.compensation import Plan
from workers.rules.refusals import refused
from workers.rules.rows import AlertCall, Entry
from workers.rules.transitions import LockedProcess
from workers.rules.two_persons import UNDO_VERBS
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.states import UndoRequestState
from workers.store import alerts, journal
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import commands
from workers.store.operate.two_persons import worth
from workers.store.settle import settle_replies


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a request."""

    #: What is undone now; None: nothing is.
    plan: Plan | None = None
    #: Why it came too late to be approved; None: it did not.
    refusal: StateError | None = None


def ask(
    process_id: int,
    verb: str,
    *,
    actor: str,
    reason: str,
    step: str = "",
    sequence: int | None = None,
    now: datetime | None = None,
) -> int:
    """Ask for a process to be undone by a second person's leave; return the request's number.

    Nothing of the process changes.  Raises ``StateError`` as the verb itself would, and where
    another request of the process waits that is still good.
    """
    storable_text.check_all(actor=actor, reason=reason)
    amount = worth([process_id], actor).get(process_id)
    with durable("undo_requests.ask"):
        locked = commands.lock(process_id, sequence, now)
        at = dialect.read_clock(now)
        before = locked.process.sequence
        _close_earlier(locked, actor, at)
        # Tried out on the rows in memory, and never saved.
        undo = _names(UNDO_VERBS[verb](locked, step, actor, reason))
        request = UndoRequest.objects.create(
            process_id=process_id,
            verb=verb,
            step=step,
            undo=undo,
            sequence=before,
            amount=amount,
            asked_by=actor[:200],
            reason=reason,
            asked_at=at,
        )
        said = {"verb": verb, "step": step, "amount": amount and str(amount), "reason": reason}
        _note("undo_asked", request, actor, at, {name: v for name, v in said.items() if v})
        # Whoever may decide is told as of any incident; the sweep closes it.
        told = {"subject": locked.process.subject, "actor": actor}
        cause = f"undo_requested:{process_id}"
        alerts.write([AlertCall(cause, "undo_requested", told, process_id)], at)
    return int(request.pk)


@load.again_when_lost
def decide(
    request_id: int,
    *,
    is_approved: bool,
    actor: str,
    reason: str = "",
    now: datetime | None = None,
) -> Decision:
    """Approve a request, which undoes its process in the same transaction, or decline it.

    One that is expired, or whose process has moved or cannot be undone any more, is declined with
    that as the reason.  Raises ``StateError``, and changes nothing, where ``actor`` asked for it,
    where it has been decided, or where there is none.
    """
    storable_text.check_all(actor=actor, reason=reason)
    with durable("undo_requests.decide"):
        locked, request = _lock(request_id, now)
        if request.asked_by == actor[:200]:
            raise refused("undo_own", request=request_id)
        at = dialect.read_clock(now)
        if not is_approved:
            return _decline(request, actor, at, reason)
        # Before what the verb leads to, and saved with it.
        detail = {"request": request_id, "asked_by": request.asked_by, "reason": reason or None}
        locked.note("undo_approved", actor, detail=detail)
        try:
            plan = _carry_out(locked, request, actor, at)
        except StateError as refusal:
            # What it changed in memory is not saved.
            return _decline(request, actor, at, reason, refusal)
        settle_replies.go_on([locked], actor, now, claim=False)
        _close(request, UndoRequestState.APPROVED, actor, at, comment=reason)
    return Decision(plan)


def _lock(request_id: int, now: datetime | None) -> tuple[LockedProcess, UndoRequest]:
    """Lock the process of a request that waits; raise ``StateError`` where none does."""
    process_id = UndoRequest.objects.filter(pk=request_id).values_list("process", flat=True).first()
    if process_id is None:
        raise refused("no_undo_request", request=request_id)
    locked = commands.lock(process_id, None, now)
    # Read under the lock: somebody may have decided while it was waited for.
    request = UndoRequest.objects.filter(pk=request_id).first()
    if request is None:
        raise refused("no_undo_request", request=request_id)
    if request.state != UndoRequestState.WAITING:
        raise refused("undo_decided", request=request_id, actor=request.decided_by)
    return locked, request


def _carry_out(locked: LockedProcess, request: UndoRequest, actor: str, at: datetime) -> Plan:
    two_persons.refuse_if_expired(request.pk, request.asked_at, at)
    if locked.process.sequence != request.sequence:
        raise refused("undo_moved", subject=locked.process.subject)
    plan = UNDO_VERBS[request.verb](locked, request.step, actor, request.reason)
    if _names(plan) != request.undo:
        # Claims move a step without a number that the submitter sees.
        raise refused("undo_moved", subject=locked.process.subject)
    return plan


def _close_earlier(locked: LockedProcess, actor: str, at: datetime) -> None:
    """Decline the earlier request if it has expired; raise ``StateError`` while it is good."""
    earlier = UndoRequest.objects.filter(
        process=locked.process.id, state=UndoRequestState.WAITING
    ).first()
    if earlier is None:
        return
    try:
        two_persons.refuse_if_expired(earlier.pk, earlier.asked_at, at)
        if locked.process.sequence != earlier.sequence:
            raise refused("undo_moved", subject=locked.process.subject)
    except StateError as refusal:
        _decline(earlier, actor, at, "", refusal)
    else:
        raise refused("undo_asked", request=earlier.pk, actor=earlier.asked_by)


def _decline(
    request: UndoRequest,
    actor: str,
    at: datetime,
    comment: str,
    refusal: StateError | None = None,
) -> Decision:
    _close(request, UndoRequestState.DECLINED, actor, at, comment=comment, refusal=refusal)
    detail = {
        "asked_by": request.asked_by,
        **({"reason": comment} if comment else {}),
        **({"code": refusal.code} if refusal else {}),
    }
    _note("undo_declined", request, actor, at, detail)
    return Decision(refusal=refusal)


def _close(
    request: UndoRequest,
    state: str,
    actor: str,
    at: datetime,
    *,
    comment: str,
    refusal: StateError | None = None,
) -> None:
    why = {"code": refusal.code, "params": refusal.params} if refusal else None
    UndoRequest.objects.filter(pk=request.pk).update(
        state=state, decided_by=actor[:200], decided_at=at, comment=comment, refusal=why
    )


def _note(
    event: str, request: UndoRequest, actor: str, at: datetime, detail: dict[str, Any]
) -> None:
    entry = Entry(request.process_id, event, actor, detail={"request": request.pk, **detail})
    journal.write([entry], at)


def _names(plan: Plan) -> list[str]:
    return [planned.name for planned in plan.undo]
