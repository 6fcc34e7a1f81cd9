"""One message: an order, or a dead letter with the reasons."""

import logging
from dataclasses import dataclass

from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError, transaction

from orders import dead_letters
from orders.consumer import accepting, identity, reading
from orders.consumer.identity import Sender
from orders.consumer.message import Message
from orders.models import DeadLetter, Order
from orders.reasons import Refused, because
from orders.schemas import FieldProblem

log = logging.getLogger(__name__)

#: The database is away, overloaded, read-only or not yet as the code expects it: no message's
#: fault.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError, ProgrammingError)


@dataclass(frozen=True, slots=True)
class HandlingResult:
    """What became of a message; it is committed."""

    sender: Sender
    order: Order | None = None
    letter: DeadLetter | None = None


def handle(message: Message) -> HandlingResult:
    """Make an order or a dead letter of a message; either is committed when this returns.

    Whatever a message contains, nothing it causes gets out of here: only the database's
    absence is raised, as one of ``DATABASE_AWAY``, and then nothing was stored.
    """
    sender, is_our_fault = Sender(None), False
    try:
        sender = identity.prove(message)
        return HandlingResult(sender, order=_order(message, sender))
    except Refused as refused:
        found = refused.reasons
    except DATABASE_AWAY:
        raise
    except Exception as error:
        log.exception("submission_failed", extra={"message_id": message.text("message_id")[:200]})
        found = [because("message", f"could not be handled: {type(error).__name__}")]
        is_our_fault = True
    return HandlingResult(sender, letter=bury(message, found, sender, is_our_fault=is_our_fault))


def bury(
    message: Message, found: list[FieldProblem], sender: Sender, *, is_our_fault: bool
) -> DeadLetter:
    """Keep a message as a dead letter, or count it where its sender has left too many."""
    letter = dead_letters.keep(message, found, sender.client, is_our_fault=is_our_fault)
    log.warning(
        "submission_refused",
        extra={
            "dead_letter": letter.pk,
            "client": letter.client,
            "message_id": letter.message_id,
            "fields": sorted({one.field for one in found}),
        },
    )
    return letter


def _order(message: Message, sender: Sender) -> Order:
    found = list(sender.reasons)
    submission = None
    try:
        submission = reading.read(message, sender.client)
    except Refused as refused:
        found += refused.reasons
    if found or submission is None or sender.client is None:
        raise Refused(found)
    order, is_new = accepting.accept(submission, sender.client)
    log.info(
        "submission_accepted" if is_new else "submission_repeated",
        extra={
            "order": order.number,
            "client": sender.client.name,
            "message_id": submission.key,
        },
    )
    return order


def give_up(message: Message, found: list[FieldProblem]) -> HandlingResult:
    """Make a dead letter of a message that could not be handled, without another look at it."""
    sender = identity.prove(message)
    return HandlingResult(sender, letter=bury(message, found, sender, is_our_fault=True))


def is_database_there() -> bool:
    """Say whether a dead letter could be kept: the database is there, and takes rows."""
    try:
        with transaction.atomic():
            dead_letters.keep(Message(b""), [])
            transaction.set_rollback(True)
    except DATABASE_AWAY:
        return False
    return True
