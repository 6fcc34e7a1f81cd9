"""Retention of the shop's rows, beside the engine's own."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from orders.models import DeadLetter, Order, RateCount, Return
from workers import durable
from workers.conf import sas
from workers.operate.retention import Pruner, register


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


def prune_letters(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete resolved dead letters; yield the number after each batch."""
    while True:
        with durable("retention.prune_letters"):
            ids = list(resolved_letters(now).order_by("pk").values_list("pk", flat=True)[:limit])
            # Filtered again: an operator may have reopened one of them.
            count, _ = resolved_letters(now).filter(pk__in=ids).delete()
        yield count
        if len(ids) < limit:
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


def prune_counts(limit: int, now: datetime | None = None) -> Iterator[int]:
    """Delete counts that are over; yield the number after each batch."""
    while True:
        with durable("retention.prune_counts"):
            keys = list(over_counts(now).values_list("pk", flat=True)[:limit])
            # Filtered again: one may have begun a new period.
            count, _ = over_counts(now).filter(pk__in=keys).delete()
        yield count
        if len(keys) < limit:
            return


register(
    Pruner(
        "orders",
        "orders that ended long ago",
        lambda now: old_orders(now).count(),
        prune_orders,
    )
)
register(
    Pruner(
        "dead letters",
        "messages replayed or discarded long ago",
        lambda now: resolved_letters(now).count(),
        prune_letters,
    )
)
register(
    Pruner(
        "sessions",
        "visits to the shop that are over",
        lambda now: over_sessions(now).count(),
        prune_sessions,
    )
)
register(
    Pruner(
        "rate counts",
        "counts of what visitors asked for, whose period is over",
        lambda now: over_counts(now).count(),
        prune_counts,
    )
)
