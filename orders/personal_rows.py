"""The shop's personal data of a customer: columns of orders, and dead letters."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from orders.models import DeadLetter, Order, Return
from workers import PersonalRows, register_personal_rows
from workers.models import Journal

#: The columns of an order that identify the customer.
COLUMNS = ("customer_name", "customer_email", "customer_address")

#: The value of an erased column.
ERASED = "***"


class Orders(PersonalRows):
    name = "orders"

    def processes(self, email: str) -> Iterable[int]:
        orders = Order.objects.filter(customer_email__icontains=self.needle(email))
        rows = orders.values_list("pk", "process", "customer_email")
        hits = {pk: process for pk, process, mail in rows if self.has_address(email, mail)}
        yield from hits.values()
        yield from Return.objects.filter(order__in=hits).values_list("process", flat=True)

    def of_process(self, process_id: int) -> list[dict[str, Any]]:
        facts = ("number", "created_at", "source", "reference", "total")
        return list(Order.objects.filter(process=process_id).values(*facts, *COLUMNS))

    def erase_of_process(self, process_id: int, hide: Callable[[str], str]) -> None:
        for order in Order.objects.filter(process=process_id):
            # The reference is the client's own, and may repeat a name.
            Order.objects.filter(pk=order.pk).update(
                **dict.fromkeys(COLUMNS, ERASED), reference=hide(order.reference)
            )


class DeadLetters(PersonalRows):
    name = "dead letters"

    def of_person(self, email: str) -> list[dict[str, Any]]:
        return [
            {
                "number": letter.pk,
                "state": letter.state,
                "received_at": letter.received_at,
                "body": bytes(letter.body).decode(errors="replace"),
            }
            for letter in _letters(email)
        ]

    def kept(self, email: str) -> list[str]:
        return [
            f"Dead letter {letter.pk} is open. Replay or discard it, then erase again."
            for letter in _letters(email)
            if letter.state == DeadLetter.State.OPEN
        ]

    def erase_of_person(self, email: str) -> int:
        # Locked: an operator may be reopening one of them.
        letters = DeadLetter.objects.filter(pk__in=[letter.pk for letter in _letters(email)])
        closed = letters.select_for_update().exclude(state=DeadLetter.State.OPEN)
        ids = list(closed.values_list("pk", flat=True))
        # The reasons of actions may name the person.
        acts = Journal.objects.filter(event__startswith="dead_letter_", detail__letter__in=ids)
        for row in acts:
            Journal.objects.filter(pk=row.pk).update(detail={**row.detail, "reason": ERASED})
        LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(DeadLetter),
            object_id__in=[str(pk) for pk in ids],
        ).update(change_message=ERASED, object_repr=ERASED)
        return DeadLetter.objects.filter(pk__in=ids).delete()[0]


def _letters(email: str) -> list[DeadLetter]:
    """Return the dead letters that have an address, by a full scan: bodies have no index."""
    return [
        letter
        for letter in DeadLetter.objects.order_by("pk").iterator(chunk_size=200)
        if PersonalRows.has_address(
            email,
            *(letter.body, letter.corrected, letter.properties, letter.reasons, letter.comment),
        )
    ]


register_personal_rows(Orders())
register_personal_rows(DeadLetters())
