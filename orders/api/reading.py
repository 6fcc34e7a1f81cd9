"""Orders as the API shows them: a client sees only its own."""

import time
from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.http import Http404

from orders import log_fields
from orders.models import ApiClient, Order
from orders.money import NOTHING, Money, money_of
from orders.schemas import EventOut, MoneyOut, OrderLineOut, OrderOut, StepOut
from workers.client import progress
from workers.models import Journal

#: How often a waiting request checks whether the order has changed.
LOOK_SECONDS = 0.25


def own(client: ApiClient, public_id: UUID) -> Order:
    """Return an order of this client; raise ``Http404`` for any other."""
    order = Order.objects.filter(public_id=public_id, submitter=client.submitter).first()
    if order is None:
        raise Http404
    log_fields.bind(order)
    return order


def detail(order: Order) -> OrderOut:
    """Return an order with its steps."""
    snapshot = _snapshot(order)
    return _out(order, snapshot, money_of(order))


def accepted(order: Order) -> OrderOut:
    """Return an order that was just placed with its steps."""
    return _out(order, progress.of_submitted(order.process), NOTHING)


def _snapshot(order: Order) -> progress.ProcessProgress:
    return progress.snapshot(order.process_id, with_names=False)


def _out(order: Order, snapshot: progress.ProcessProgress, money: Money) -> OrderOut:
    return OrderOut(
        id=order.public_id,
        number=order.number,
        state=snapshot.state,
        reference=order.reference,
        total=order.total,
        money=MoneyOut(**money.facts),
        created_at=order.created_at,
        finished_at=snapshot.finished_at,
        sequence=snapshot.sequence,
        headline=snapshot.headline,
        steps=[
            StepOut(
                name=step.name,
                state=step.state,
                attempt=step.attempt,
                failure_count=step.failure_count,
                failure_threshold=step.failure_threshold,
                complete_by=step.complete_by,
                not_before=step.not_before,
                explanation=step.explanation,
            )
            for step in snapshot.steps
        ],
    )


def when_changed(order: Order, seconds: float) -> OrderOut:
    """Return an order as soon as it has changed, or unchanged when the time is up."""
    before = current = _snapshot(order)
    end = time.monotonic() + seconds
    while current.sequence == before.sequence and not current.finished_at:
        left = end - time.monotonic()
        if left <= 0:
            break
        if not connection.in_atomic_block:
            # Free the connection for other requests meanwhile.
            connection.close()
        time.sleep(min(LOOK_SECONDS, left))
        current = _snapshot(order)
    return _out(order, current, money_of(order))


def page(
    client: ApiClient, *, state: str | None, reference: str | None, after: str | None, limit: int
) -> tuple[list[OrderLineOut], str | None]:
    """Return a page of a client's orders, newest first, and the cursor of the next."""
    orders = Order.objects.filter(submitter=client.submitter).select_related("process")
    if state is not None:
        orders = orders.filter(process__state=state)
    if reference is not None:
        orders = orders.filter(reference=reference)
    if after is not None:
        orders = orders.filter(number__lt=int(after))
    rows = list(orders.order_by("-number")[: limit + 1])
    lines = [
        OrderLineOut(
            id=order.public_id,
            number=order.number,
            state=order.process.state,
            reference=order.reference,
            total=order.total,
            created_at=order.created_at,
        )
        for order in rows[:limit]
    ]
    return lines, str(lines[-1].number) if len(rows) > limit else None


def events(order: Order, after: int, limit: int) -> Iterator[EventOut]:
    """Yield the events of an order after a sequence number."""
    rows = (
        Journal.objects.filter(process_id=order.process_id, sequence__gt=after)
        .select_related("step")
        .order_by("sequence")[:limit]
    )
    for row in rows:
        assert row.sequence is not None
        at: datetime = row.at
        yield EventOut(
            sequence=row.sequence,
            event=row.event,
            step=row.step.name if row.step else None,
            state=row.after,
            at=at,
        )
