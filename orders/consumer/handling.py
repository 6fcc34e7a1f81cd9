"""Turns one message into an order, or into a dead letter with the reasons."""

import logging
from dataclasses import dataclass

from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError, transaction

from orders import dead_letters, log_fields
from orders.consumer import accepting, identity, reading
from orders.consumer.identity import Sender
from orders.consumer.message import Message
from orders.models import DeadLetter, Order
from orders.reasons import Refused, because
from orders.schemas import FieldProblem

log = logging.getLogger(__name__)

#: The database is away, overloaded, read-only or not yet migrated: never a message's fault.
DATABASE_AWAY = (OperationalError, InterfaceError, InternalError, ProgrammingError)


@dataclass(frozen=True, slots=True)
class HandlingResult:
    """The committed result of a message."""

    sender: Sender
    order: Order | None = None
    letter: DeadLetter | None = None


def handle(message: Message) -> HandlingResult:
    """Turn a message into an order or a dead letter; either is committed on return.

    No content of a message can make this raise: it raises only ``DATABASE_AWAY`` errors, and
    then nothing was stored.
    """
    sender, is_our_fault = Sender(None), False
    try:
        sender = identity.prove(message)
        return HandlingResult(sender, order=_order(message, sender))
    except Refused as refused:
        problems = refused.reasons
    except DATABASE_AWAY:
        raise
    except Exception as error:
        log.exception("submission_failed", extra={"message_id": message.text("message_id")[:200]})
        problems = [because("message", f"could not be handled: {type(error).__name__}")]
        is_our_fault = True
    return HandlingResult(sender, letter=keep(message, problems, sender, is_our_fault=is_our_fault))


def keep(
    message: Message, problems: list[FieldProblem], sender: Sender, *, is_our_fault: bool
) -> DeadLetter:
    """Keep a message as a dead letter, or only count it if its sender has too many open."""
    letter = dead_letters.keep(message, problems, sender.client, is_our_fault=is_our_fault)
    log.warning(
        "submission_refused",
        extra={
            "dead_letter": letter.pk,
            "client": letter.client,
            "message_id": letter.message_id,
            "fields": sorted({problem.field for problem in problems}),
        },
    )
    return letter


def _order(message: Message, sender: Sender) -> Order:
    problems = list(sender.reasons)
    submission = None
    try:
        submission = reading.read(message, sender.client)
    except Refused as refused:
        problems += refused.reasons
    if problems or submission is None or sender.client is None:
        raise Refused(problems)
    order, is_new = accepting.accept(submission, sender.client)
    log.info(
        "submission_accepted" if is_new else "submission_repeated",
        extra={
            **log_fields.of(order),
            "client": sender.client.name,
            "message_id": submission.key,
        },
    )
    return order


def give_up(message: Message, problems: list[FieldProblem]) -> HandlingResult:
    """Turn a message that could not be handled into a dead letter, without another attempt."""
    sender = identity.prove(message)
    return HandlingResult(sender, letter=keep(message, problems, sender, is_our_fault=True))


def is_database_there() -> bool:
    """Say whether the database accepts writes, by a dead letter that is rolled back."""
    try:
        with transaction.atomic():
            dead_letters.keep(Message(b""), [])
            transaction.set_rollback(True)
    except DATABASE_AWAY:
        return False
    return True
