"""Requests for approval of acts that take two persons: one asks, another decides.

The process's row is the lock of its requests.  Asking and deciding lock it first, so that of two
decisions one counts, and the process cannot move meanwhile.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from workers.exceptions import StateError
from workers.models import UndoRequest
from workers.rules import two_persons
from workers.rules.approved_acts import VERBS, Act, ActVerb
from workers.rules.refusals import refused
from workers.rules.rows import AlertCall, Entry
from workers.rules.transitions import LockedProcess
from workers.runtime import storable_text
from workers.runtime.failpoints import durable
from workers.states import UndoRequestState
from workers.store import alerts, journal
from workers.store.db import dialect
from workers.store.locked import load
from workers.store.operate import edit_input, steering
from workers.store.operate.two_persons import worth
from workers.store.settle.carry_on import carry_on


def _edited(locked: LockedProcess, act: Act) -> list[str]:
    return list(edit_input.plan(locked, act.params["changes"]).changed)


def _edit(locked: LockedProcess, act: Act, actor: str, reason: str) -> list[str]:
    edit = edit_input.plan(locked, act.params["changes"])
    edit_input.carry_out(locked, edit, actor, reason)
    return list(edit.changed)


@dataclass(frozen=True, slots=True)
class StoreVerb:
    """A verb that changes what is only in the database, so that no trial in memory shows it."""

    #: Returns the names of what it would move.
    plan: Callable[[LockedProcess, Act], Sequence[str]]
    apply: ActVerb
    #: Takes the process, the actor and the reason: does before, in transactions of its own, what
    #: is too much for one, and is finished by the next approval if it dies.
    before: Callable[[int, str, str], None] | None = None


#: By name, beside the ``VERBS``; a module above this one adds its own.
STORE_VERBS = {"input": StoreVerb(_edited, _edit)}


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome of a decision."""

    #: The names of what moves now; None: the request is declined.
    moves: Sequence[str] | None = None
    #: Why it came too late to be approved; None: it came in time.
    refusal: StateError | None = None


def ask(
    process_id: int,
    act: Act,
    *,
    actor: str,
    reason: str,
    sequence: int | None = None,
    now: datetime | None = None,
) -> int:
    """Ask a second person to approve an act on a process; return the request's number.

    The process does not change.  Raises ``StateError`` as the verb itself would, and if another
    valid request of the process is waiting.
    """
    storable_text.check_all(actor=actor, reason=reason)
    amount = worth([process_id], actor).get(process_id)
    with durable("undo_requests.ask"):
        locked = steering.lock(process_id, sequence, now)
        at = dialect.read_clock(now)
        current = locked.process.sequence
        _close_earlier(locked, actor, at)
        moves = _moves_of(locked, act, actor, reason)
        request = UndoRequest.objects.create(
            process_id=process_id,
            verb=act.verb,
            step=act.step,
            given=dict(act.params),
            undo=list(moves),
            sequence=current,
            amount=amount,
            asked_by=actor[:200],
            reason=reason,
            asked_at=at,
        )
        facts = {
            "verb": act.verb,
            "step": act.step,
            "amount": amount and str(amount),
            "reason": reason,
        }
        _note("undo_asked", request, actor, at, {name: v for name, v in facts.items() if v})
        # The alert informs those who may decide; the sweep closes it.
        params = {"subject": locked.process.subject, "actor": actor}
        cause = f"undo_requested:{process_id}"
        alerts.write([AlertCall(cause, "undo_requested", params, process_id)], at)
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
    """Approve a request, and carry it out in the same transaction, or decline it.

    A request that is expired, or whose process has moved or now forbids the act, is declined with
    that as the reason.  Raises ``StateError``, changing nothing, if ``actor`` made the request, if
    it is already decided, or if there is none.
    """
    storable_text.check_all(actor=actor, reason=reason)
    if is_approved:
        _begin(request_id, actor, now)
    with durable("undo_requests.decide"):
        locked, request = _lock(request_id, actor, now)
        at = dialect.read_clock(now)
        if not is_approved:
            return _decline(request, actor, at, reason)
        # Before the verb's own entries, and saved with them.
        detail = {"request": request_id, "asked_by": request.asked_by, "reason": reason or None}
        locked.note("undo_approved", actor, detail=detail)
        try:
            # A refusal half-way must leave no trace in the database.
            with transaction.atomic():
                moves = _carry_out(locked, request, actor, at)
        except StateError as refusal:
            # Its changes in memory are not saved.
            return _decline(request, actor, at, reason, refusal)
        carry_on([locked], actor, now)
        _close(request, UndoRequestState.APPROVED, actor, at, comment=reason)
    return Decision(moves)


def _begin(request_id: int, actor: str, now: datetime | None) -> None:
    """Do what an act does before its own transaction, if it would be approved now."""
    with durable("undo_requests.begin"):
        locked, request = _lock(request_id, actor, now)
        verb = STORE_VERBS.get(request.verb)
        if verb is None or verb.before is None:
            return
        try:
            _refuse_unless_valid(locked, request, dialect.read_clock(now))
            verb.plan(locked, _act_of(request))
        except StateError:
            return
    verb.before(request.process_id, actor, request.reason)


def _lock(request_id: int, actor: str, now: datetime | None) -> tuple[LockedProcess, UndoRequest]:
    """Lock the process of a waiting request of somebody else; raise ``StateError`` if not so."""
    process_id = UndoRequest.objects.filter(pk=request_id).values_list("process", flat=True).first()
    if process_id is None:
        raise refused("no_undo_request", request=request_id)
    locked = steering.lock(process_id, None, now)
    # Read it under the lock: it may have been decided during the wait.
    request = UndoRequest.objects.filter(pk=request_id).first()
    if request is None:
        raise refused("no_undo_request", request=request_id)
    if request.state != UndoRequestState.WAITING:
        raise refused("undo_decided", request=request_id, actor=request.decided_by)
    if request.asked_by == actor[:200]:
        raise refused("undo_own", request=request_id)
    return locked, request


def _moves_of(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    """Return what an act would move, by a trial on the rows in memory that is never saved."""
    if (verb := STORE_VERBS.get(act.verb)) is not None:
        return verb.plan(locked, act)
    return VERBS[act.verb](locked, act, actor, reason)


def _apply(locked: LockedProcess, act: Act, actor: str, reason: str) -> Sequence[str]:
    """Carry out an act, on the rows in memory or in the database; return what it moves."""
    verb = STORE_VERBS.get(act.verb)
    carry_out = VERBS[act.verb] if verb is None else verb.apply
    return carry_out(locked, act, actor, reason)


def _carry_out(
    locked: LockedProcess, request: UndoRequest, actor: str, at: datetime
) -> Sequence[str]:
    _refuse_unless_valid(locked, request, at)
    moves = _apply(locked, _act_of(request), actor, request.reason)
    if list(moves) != request.undo:
        raise refused("undo_moved", subject=locked.process.subject)
    return moves


def _act_of(request: UndoRequest) -> Act:
    return Act(request.verb, request.step, request.given)


def _refuse_unless_valid(locked: LockedProcess, request: UndoRequest, at: datetime) -> None:
    """Raise ``StateError`` if a request has expired, or its process has moved since."""
    two_persons.refuse_if_expired(request.pk, request.asked_at, at)
    if has_moved(request, locked.process.sequence):
        raise refused("undo_moved", subject=locked.process.subject)


def has_moved(request: UndoRequest, sequence: int) -> bool:
    """Say whether a process with this sequence number, or the act's step, moved since the request.

    A further attempt moves the step without a new sequence number, and may have had its effect.
    """
    if sequence != request.sequence or not request.step:
        return sequence != request.sequence
    rows = dialect.fetch(
        "SELECT 1 FROM workers_journal j JOIN workers_step s ON s.id = j.step_id"
        " WHERE j.process_id = %s AND s.name = %s AND j.after IS NOT NULL"
        " AND j.id > (SELECT max(a.id) FROM workers_journal a"
        " WHERE a.process_id = %s AND a.event = 'undo_asked') LIMIT 1",
        [request.process_id, request.step, request.process_id],
    )
    return bool(rows)


def _close_earlier(locked: LockedProcess, actor: str, at: datetime) -> None:
    """Decline the earlier request if it has expired; raise ``StateError`` while it is valid."""
    earlier = UndoRequest.objects.filter(
        process=locked.process.id, state=UndoRequestState.WAITING
    ).first()
    if earlier is None:
        return
    try:
        _refuse_unless_valid(locked, earlier, at)
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
    cause = {"code": refusal.code, "params": refusal.params} if refusal else None
    UndoRequest.objects.filter(pk=request.pk).update(
        state=state, decided_by=actor[:200], decided_at=at, comment=comment, refusal=cause
    )


def _note(
    event: str, request: UndoRequest, actor: str, at: datetime, detail: dict[str, Any]
) -> None:
    entry = Entry(request.process_id, event, actor, detail={"request": request.pk, **detail})
    journal.write([entry], at)
