"""Retention of the shop's rows, beside the engine's own."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from orders.models import DeadLetter, Order, RateCount, Return
from workers import durable
from workers.conf import sas
from workers.operate.retention import Pruner, register

#: Takes the size of a batch, and the time.
Prune = Callable[[int, datetime | None], Iterator[int]]


def resolved_letters(now: datetime | None = None) -> QuerySet[DeadLetter]:
    """Return the dead letters that were replayed or discarded long ago."""
    before = (now or timezone.now()) - timedelta(days=sas.keep_resolved_days)
    # Open letters have no resolved_at.
    return DeadLetter.objects.filter(resolved_at__lt=before)


def over_sessions(now: datetime | None = None) -> QuerySet[Session]:
    """Return the expired sessions of visitors, which hold their baskets."""
    return Session.objects.filter(expire_date__lt=now or timezone.now())


def old_orders(now: datetime | None = None) -> QuerySet[Order]:
    """Return the orders that ended long ago, together with all their returns."""
    before = (now or timezone.now()) - timedelta(days=sas.keep_processes_days)
    late = Return.objects.filter(order=OuterRef("pk")).exclude(process__finished_at__lt=before)
    return Order.objects.filter(
        ~Exists(late), process__finished_at__lt=before, process__pruned_at__isnull=False
    )


def prune_orders(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete old orders with their lines and returns; yield the number after each batch.

    Their processes are pruned afterwards.  An order's submission key is forgotten with it.
    """
    while True:
        with durable("retention.prune_orders"):
            # Lock the processes, so that none is restarted meanwhile.
            rows = old_orders(now).select_for_update(of=("process",), skip_locked=True)
            rows = rows.select_related("process").only("process__state")
            orders = list(rows.order_by("process__finished_at")[:limit])
            Order.objects.filter(pk__in=[order.pk for order in orders]).delete()
        yield len(orders)
        if len(orders) < limit:
            return


def prune_sessions(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete expired sessions, oldest first; yield the number after each batch.

    Finds them by their expiry only: session keys are logins, which a worker need not read.
    """
    while True:
        with durable("retention.prune_sessions"):
            sessions = over_sessions(now)
            ends = sessions.order_by("expire_date").values_list("expire_date", flat=True)[:limit]
            last = max(ends, default=None)
            count = 0 if last is None else sessions.filter(expire_date__lte=last).delete()[0]
        yield count
        if count < limit:
            return


def over_counts(now: datetime | None = None) -> QuerySet[RateCount]:
    """Return the rate-limit counts whose period is over."""
    return RateCount.objects.filter(ends_at__lt=now or timezone.now())


def _prune(old: Callable[[datetime | None], QuerySet[Any]]) -> Prune:
    """Return what deletes old rows by their ids; it yields the number after each batch."""

    def prune(limit: int, now: datetime | None = None) -> Iterator[int]:
        while True:
            with durable("retention.prune"):
                keys = list(old(now).order_by("pk").values_list("pk", flat=True)[:limit])
                # Filtered again: one may be open again, or have begun a new period.
                count, _ = old(now).filter(pk__in=keys).delete()
            yield count
            if len(keys) < limit:
                return

    return prune


#: By name: what it prunes, the rows, and how.
_TABLE: dict[str, tuple[str, Callable[[datetime | None], QuerySet[Any]], Prune]] = {
    "orders": ("orders that ended long ago", old_orders, prune_orders),
    "dead letters": (
        "messages replayed or discarded long ago",
        resolved_letters,
        _prune(resolved_letters),
    ),
    "sessions": ("visits to the shop that are over", over_sessions, prune_sessions),
    "rate counts": (
        "counts of what visitors asked for, whose period is over",
        over_counts,
        _prune(over_counts),
    ),
}


def _count(old: Callable[[datetime | None], QuerySet[Any]]) -> Callable[[datetime | None], int]:
    return lambda now: old(now).count()


for _name, (_says, _old, _how) in _TABLE.items():
    register(Pruner(_name, _says, _count(_old), _how))
