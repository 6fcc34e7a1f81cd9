"""Dead letters: keeping a message that is no order, and what an operator does about it."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from django.db.models import Count, F, Sum
from django.db.models.functions import Length
from django.utils import timezone

from orders import letter_groups, reply_queues
from orders.consumer import accepting, reading
from orders.consumer.message import Message, storable
from orders.letter_corrections import Correction
from orders.models import ApiClient, DeadLetter, DroppedLetters, Order
from orders.reasons import Refused, because
from orders.schemas import FieldProblem
from workers import durable, raise_alert, record_act

#: Bytes of a body that are kept.
KEPT_BYTES = 1_048_576
#: Open letters at a time of one proven sender, and of all unproven ones together.
MOST_OPEN = 2_000
MOST_OPEN_BYTES = 64 * KEPT_BYTES
#: One in so many messages that are not kept raises the alert anew.
ALERT_EACH = 1_000
#: The subject of alerts about all senders that are not proven; no client can be called so.
UNPROVEN = "unproven senders"
State = DeadLetter.State


class NotNow(Exception):
    """A dead letter is not in the state that this is done in."""


def keep(
    message: Message,
    reasons: list[FieldProblem],
    proven: ApiClient | None = None,
    now: datetime | None = None,
    *,
    is_our_fault: bool = False,
) -> DeadLetter:
    """Keep a message with the reasons; what came again after a crash is kept once.

    ``proven`` is who sent it, where that is known; otherwise it is filed under the name
    that it gives itself.  Where its sender has as many open ones as may be, it is counted and
    not kept, and has no key: but never one of a proven sender that may be a good order, refused
    by a fault of ours.
    """
    claimed = message.header("client") or message.text("user_id")
    body = bytes(message.body)
    if len(body) > KEPT_BYTES:
        size = f"has {len(body)} bytes; only the first {KEPT_BYTES} are kept here"
        reasons = [*reasons, because("body", size)]
    kept = [{"field": storable(one.field), "problem": storable(one.problem)} for one in reasons]
    letter = DeadLetter(
        received_at=now or timezone.now(),
        message_id=storable(message.text("message_id"), 200),
        client=proven.name if proven else storable(claimed, 100),
        sender=proven.name if proven else "",
        properties={**message.kept(), "sender": "proven" if proven else "claimed"},
        body=body[:KEPT_BYTES],
        reasons=kept,
        cause=letter_groups.cause_of(kept),
    )
    with durable("dead_letters.keep"):
        first = _first(letter) if message.is_redelivered else None
        if first is not None:
            return first
        if _has_room(letter.sender) or (proven and is_our_fault):
            letter.save(force_insert=True)
            raise_alert("dead_letters_open", **_of(letter.sender))
        else:
            _drop(letter, len(body))
    return letter


def _has_room(sender: str) -> bool:
    found = DeadLetter.objects.filter(state=State.OPEN, sender=sender).aggregate(
        count=Count("pk"), size=Sum(Length("body"))
    )
    return found["count"] < MOST_OPEN and (found["size"] or 0) < MOST_OPEN_BYTES


def _drop(letter: DeadLetter, size: int) -> None:
    """Count a message instead of keeping it, and tell operators now and then."""
    at = letter.received_at
    DroppedLetters.objects.bulk_create(
        [DroppedLetters(sender=letter.sender, first_at=at, last_at=at)], ignore_conflicts=True
    )
    mine = DroppedLetters.objects.filter(sender=letter.sender)
    mine.update(count=F("count") + 1, bytes=F("bytes") + size, last_at=at)
    count = mine.values_list("count", flat=True).get()
    if count % ALERT_EACH == 1:
        bounds = {"most": MOST_OPEN, "bytes": MOST_OPEN_BYTES, "count": count}
        raise_alert("dead_letters_full", **_of(letter.sender, "count", **bounds))


def _of(sender: str, *says: str, **params: int) -> dict[str, Any]:
    """Return what an alert says of a proven sender, or of all others together.

    Strangers make up names.
    """
    whose = "sender" if sender else "unproven"
    return {
        "params": {"says": [whose, *says], "sender": sender, **params},
        "subject": sender or UNPROVEN,
    }


def without_open(senders: Collection[str]) -> set[str]:
    """Return the senders of whom no dead letter is open any more."""
    asked = {"" if sender == UNPROVEN else sender: sender for sender in senders}
    is_open = DeadLetter.objects.filter(state=State.OPEN, sender__in=asked)
    still = set(is_open.order_by().values_list("sender", flat=True).distinct())
    return {sender for name, sender in asked.items() if name not in still}


def _first(letter: DeadLetter) -> DeadLetter | None:
    """Return the same message, kept before its acknowledgement was lost."""
    found = DeadLetter.objects.filter(
        state=State.OPEN, message_id=letter.message_id, client=letter.client, body=letter.body
    )
    return found.order_by("-pk").first()


def replay(
    pk: int,
    *,
    actor: str,
    reason: str = "",
    unproven: bool = False,
    correction: Correction | None = None,
    now: datetime | None = None,
) -> Order:
    """Place the order of a dead letter, as its client and under its key.

    With a correction that is read instead of what came; both are kept.

    Everything is looked at again but the token: that the client sent it must have been proven
    when it came, or the operator stands for it (``unproven``).  A reply queue that is not the
    client's own is left out.  Raises ``Refused`` with what is still wrong and ``NotNow``;
    nothing changes then.
    """
    with durable("dead_letters.replay"):
        letter = _locked(pk, State.OPEN, "replayed")
        order, _ = accepting.accept(*_submission(letter, unproven=unproven, correction=correction))
        done = "replayed" if letter.is_proven else "replayed as unproven"
        if correction is not None:
            done = f"corrected and {done}"
            DeadLetter.objects.filter(pk=pk).update(corrected=correction.body)
        _move(letter, State.REPLAYED, done, actor=actor, reason=reason, now=now, order=order)
    return order


def problems(
    letter: DeadLetter, correction: Correction, *, unproven: bool = False
) -> list[FieldProblem]:
    """Return what would still be wrong with a message once it is corrected."""
    try:
        _submission(letter, unproven=unproven, correction=correction)
    except Refused as refused:
        return refused.reasons
    return []


def note(pk: int, *, actor: str, reason: str, now: datetime | None = None) -> None:
    """Write something down about an open dead letter, for whoever looks next."""
    with durable("dead_letters.note"):
        letter = _locked(pk, State.OPEN, "noted")
        _move(letter, State.OPEN, "noted", actor=actor, reason=reason, now=now)


def discard(pk: int, *, actor: str, reason: str, now: datetime | None = None) -> None:
    """Say that nothing will come of a dead letter, and why.  Raises ``NotNow``."""
    with durable("dead_letters.discard"):
        letter = _locked(pk, State.OPEN, "discarded")
        _move(letter, State.DISCARDED, "discarded", actor=actor, reason=reason, now=now)


def restore(pk: int, *, actor: str, reason: str = "", now: datetime | None = None) -> None:
    """Open a discarded dead letter again.  Raises ``NotNow``."""
    with durable("dead_letters.restore"):
        letter = _locked(pk, State.DISCARDED, "restored")
        _move(letter, State.OPEN, "restored", actor=actor, reason=reason, now=now)


#: What an operator can do, by its name.
VERBS: dict[str, Callable[..., Order | None]] = {
    "replay": replay,
    "note": note,
    "discard": discard,
    "restore": restore,
}


def _submission(
    letter: DeadLetter, *, unproven: bool, correction: Correction | None = None
) -> tuple[reading.Submission, ApiClient]:
    client = ApiClient.objects.filter(name=letter.client).first()
    found = []
    if client is None:
        name = letter.client or "nobody"
        found.append(because("client", f"there is no client {name!r}; ask who sent it"))
    elif not client.is_active:
        found.append(because("client", f"{client.name} is closed; open it first"))
    elif not (letter.is_proven or unproven):
        found.append(
            because(
                "client",
                f"is not proven to be {client.name}, and anybody may write that name; ask them, "
                "then replay it as unproven (--unproven in a terminal)",
            )
        )
    try:
        submission = reading.read(_message(letter, client, correction), client)
    except Refused as refused:
        found += refused.reasons
    if found or client is None:
        raise Refused(found)
    return submission, client


def _message(
    letter: DeadLetter, client: ApiClient | None, correction: Correction | None
) -> Message:
    kept = dict(letter.properties)
    unreadable = kept.pop("unreadable", "")
    if client is not None and not reply_queues.belongs_to(client, kept.get("reply_to")):
        kept.pop("reply_to", None)
    if correction is not None:
        # Whoever corrects it has read it, and sends text.
        kept.pop("content_encoding", None)
        return Message(correction.body, {**kept, "message_id": correction.message_id})
    return Message(bytes(letter.body), kept, unreadable=unreadable)


def _locked(pk: int, state: str, done: str) -> DeadLetter:
    letter = DeadLetter.objects.select_for_update().filter(pk=pk).first()
    if letter is None:
        raise NotNow(f"There is no dead letter {pk}.")
    if letter.state != state:
        raise NotNow(
            f"Dead letter {pk} is {letter.get_state_display().lower()}: it cannot be {done}."
        )
    return letter


def _move(
    letter: DeadLetter,
    state: str,
    done: str,
    *,
    actor: str,
    reason: str,
    now: datetime | None,
    order: Order | None = None,
) -> None:
    at = now or timezone.now()
    is_over = state != State.OPEN
    line = f"{at:%Y-%m-%d %H:%M %Z} {done} by {actor}" + (f": {reason}" if reason else "")
    changed = DeadLetter.objects.filter(pk=letter.pk, state=letter.state).update(
        state=state,
        resolved_at=at if is_over else None,
        resolved_by=actor[:200] if is_over else "",
        comment="\n".join(part for part in (letter.comment, line) if part),
        order=order,
    )
    if not changed:
        raise NotNow(f"Somebody else has done something to dead letter {letter.pk} meanwhile.")
    record_act(
        f"dead_letter_{done.partition(' ')[0]}",
        {
            "letter": letter.pk,
            "client": letter.client,
            "sender": "proven" if letter.is_proven else "claimed",
            "reason": reason,
        },
        actor=actor,
        process_id=order.process_id if order else None,
    )
