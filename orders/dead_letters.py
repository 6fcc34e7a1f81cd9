"""Dead letters: keep messages that could not become orders, and the actions on them."""

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
#: Open letters per proven sender, and of all unproven senders together.
MOST_OPEN = 2_000
MOST_OPEN_BYTES = 64 * KEPT_BYTES
#: Every so many dropped messages raise the alert again.
ALERT_EACH = 1_000
#: The subject of alerts about all unproven senders; no client can have this name.
UNPROVEN = "unproven senders"
State = DeadLetter.State


class NotNow(Exception):
    """A dead letter is not in the state that the action requires."""


def keep(
    message: Message,
    reasons: list[FieldProblem],
    proven: ApiClient | None = None,
    now: datetime | None = None,
    *,
    is_our_fault: bool = False,
) -> DeadLetter:
    """Keep a message with the reasons; one that is redelivered after a crash is kept once.

    ``proven`` is the proven sender, if any; otherwise the message is filed under the name that it
    claims.  If its sender has too many open letters, the message is only counted and the letter
    has no key, except for a proven sender's message that failed by our fault: it may be a good
    order.
    """
    claimed = message.header("client") or message.text("user_id")
    body = bytes(message.body)
    if len(body) > KEPT_BYTES:
        size = f"has {len(body)} bytes; only the first {KEPT_BYTES} are kept here"
        reasons = [*reasons, because("body", size)]
    entries = [
        {"field": storable(reason.field), "problem": storable(reason.problem)} for reason in reasons
    ]
    letter = DeadLetter(
        received_at=now or timezone.now(),
        message_id=storable(message.text("message_id"), 200),
        client=proven.name if proven else storable(claimed, 100),
        sender=proven.name if proven else "",
        properties={**message.as_json(), "sender": "proven" if proven else "claimed"},
        body=body[:KEPT_BYTES],
        reasons=entries,
        cause=letter_groups.cause_of(entries),
    )
    with durable("dead_letters.keep"):
        duplicate = _find_duplicate(letter) if message.is_redelivered else None
        if duplicate is not None:
            return duplicate
        if _has_room(letter.sender) or (proven and is_our_fault):
            letter.save(force_insert=True)
            raise_alert("dead_letters_open", **_alert_params(letter.sender))
        else:
            _drop(letter, len(body))
    return letter


def _has_room(sender: str) -> bool:
    totals = DeadLetter.objects.filter(state=State.OPEN, sender=sender).aggregate(
        count=Count("pk"), size=Sum(Length("body"))
    )
    return totals["count"] < MOST_OPEN and (totals["size"] or 0) < MOST_OPEN_BYTES


def _drop(letter: DeadLetter, size: int) -> None:
    """Count a message instead of keeping it, and alert operators from time to time."""
    at = letter.received_at
    DroppedLetters.objects.bulk_create(
        [DroppedLetters(sender=letter.sender, first_at=at, last_at=at)], ignore_conflicts=True
    )
    row = DroppedLetters.objects.filter(sender=letter.sender)
    row.update(count=F("count") + 1, bytes=F("bytes") + size, last_at=at)
    count = row.values_list("count", flat=True).get()
    if count % ALERT_EACH == 1:
        bounds = {"most": MOST_OPEN, "bytes": MOST_OPEN_BYTES, "count": count}
        raise_alert("dead_letters_full", **_alert_params(letter.sender, "count", **bounds))


def _alert_params(sender: str, *parts: str, **params: int) -> dict[str, Any]:
    """Return the parameters of an alert about a proven sender, or about all others together.

    Unproven senders share one alert, because they can make up names.
    """
    key = "sender" if sender else "unproven"
    return {
        "params": {"says": [key, *parts], "sender": sender, **params},
        "subject": sender or UNPROVEN,
    }


def without_open(senders: Collection[str]) -> set[str]:
    """Return the senders that have no open dead letter any more."""
    by_name = {"" if sender == UNPROVEN else sender: sender for sender in senders}
    letters = DeadLetter.objects.filter(state=State.OPEN, sender__in=by_name)
    open_names = set(letters.order_by().values_list("sender", flat=True).distinct())
    return {sender for name, sender in by_name.items() if name not in open_names}


def _find_duplicate(letter: DeadLetter) -> DeadLetter | None:
    """Return the open letter of the same message, whose acknowledgement was lost."""
    letters = DeadLetter.objects.filter(
        state=State.OPEN, message_id=letter.message_id, client=letter.client, body=letter.body
    )
    return letters.order_by("-pk").first()


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

    A correction is read instead of the original body; both are kept.

    Checks everything again except the token: the sender must have been proven on arrival, or the
    operator vouches for it (``unproven``).  Leaves out a reply queue that is not the client's own.
    Raises ``Refused`` with the remaining problems, and ``NotNow``; nothing changes then.
    """
    with durable("dead_letters.replay"):
        letter = _locked(pk, State.OPEN, "replayed")
        order, _ = accepting.accept(*_submission(letter, unproven=unproven, correction=correction))
        outcome = "replayed" if letter.is_proven else "replayed as unproven"
        if correction is not None:
            outcome = f"corrected and {outcome}"
            DeadLetter.objects.filter(pk=pk).update(corrected=correction.body)
        _move(letter, State.REPLAYED, outcome, actor=actor, reason=reason, now=now, order=order)
    return order


def problems(
    letter: DeadLetter, correction: Correction, *, unproven: bool = False
) -> list[FieldProblem]:
    """Return the problems that a message would still have once it is corrected."""
    try:
        _submission(letter, unproven=unproven, correction=correction)
    except Refused as refused:
        return refused.reasons
    return []


def note(pk: int, *, actor: str, reason: str, now: datetime | None = None) -> None:
    """Add a note to an open dead letter.  Raises ``NotNow``."""
    with durable("dead_letters.note"):
        letter = _locked(pk, State.OPEN, "noted")
        _move(letter, State.OPEN, "noted", actor=actor, reason=reason, now=now)


def discard(pk: int, *, actor: str, reason: str, now: datetime | None = None) -> None:
    """Close a dead letter without an order.  Raises ``NotNow``."""
    with durable("dead_letters.discard"):
        letter = _locked(pk, State.OPEN, "discarded")
        _move(letter, State.DISCARDED, "discarded", actor=actor, reason=reason, now=now)


def restore(pk: int, *, actor: str, reason: str = "", now: datetime | None = None) -> None:
    """Reopen a discarded dead letter.  Raises ``NotNow``."""
    with durable("dead_letters.restore"):
        letter = _locked(pk, State.DISCARDED, "restored")
        _move(letter, State.OPEN, "restored", actor=actor, reason=reason, now=now)


#: The actions of operators by name.
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
    problems = []
    if client is None:
        name = letter.client or "nobody"
        problems.append(because("client", f"there is no client {name!r}; ask who sent it"))
    elif not client.is_active:
        problems.append(because("client", f"{client.name} is closed; open it first"))
    elif not (letter.is_proven or unproven):
        problems.append(
            because(
                "client",
                f"is not proven to be {client.name}, and anybody may write that name; ask them, "
                "then replay it as unproven (--unproven in a terminal)",
            )
        )
    try:
        submission = reading.read(_message(letter, client, correction), client)
    except Refused as refused:
        problems += refused.reasons
    if problems or client is None:
        raise Refused(problems)
    return submission, client


def _message(
    letter: DeadLetter, client: ApiClient | None, correction: Correction | None
) -> Message:
    properties = dict(letter.properties)
    unreadable = properties.pop("unreadable", "")
    if client is not None and not reply_queues.belongs_to(client, properties.get("reply_to")):
        properties.pop("reply_to", None)
    if correction is not None:
        # A correction is text, whatever the encoding of the original was.
        properties.pop("content_encoding", None)
        return Message(correction.body, {**properties, "message_id": correction.message_id})
    return Message(bytes(letter.body), properties, unreadable=unreadable)


def _locked(pk: int, state: str, outcome: str) -> DeadLetter:
    letter = DeadLetter.objects.select_for_update().filter(pk=pk).first()
    if letter is None:
        raise NotNow(f"There is no dead letter {pk}.")
    if letter.state != state:
        raise NotNow(
            f"Dead letter {pk} is {letter.get_state_display().lower()}: it cannot be {outcome}."
        )
    return letter


def _move(
    letter: DeadLetter,
    state: str,
    outcome: str,
    *,
    actor: str,
    reason: str,
    now: datetime | None,
    order: Order | None = None,
) -> None:
    at = now or timezone.now()
    is_over = state != State.OPEN
    line = f"{at:%Y-%m-%d %H:%M %Z} {outcome} by {actor}" + (f": {reason}" if reason else "")
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
        f"dead_letter_{outcome.partition(' ')[0]}",
        {
            "letter": letter.pk,
            "client": letter.client,
            "sender": "proven" if letter.is_proven else "claimed",
            "reason": reason,
        },
        actor=actor,
        process_id=order.process_id if order else None,
    )
