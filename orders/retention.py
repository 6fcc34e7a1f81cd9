"""Retention of the shop's rows, beside the engine's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.sessions.models import Session
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from orders.models import DeadLetter, Order, RateCount, Return
from workers import durable
from workers.conf import sas
from workers.operate.retention import register


@dataclass(frozen=True, slots=True)
class Old:
    """Rows that a query finds once they are old."""

    find: Callable[[datetime | None], QuerySet[Any]]
    #: Deletes a batch of them; says how many of how many it found.
    delete: Callable[[QuerySet[Any], int], tuple[int, int]]

    def count(self, now: datetime | None = None) -> int:
        """Count those that may go."""
        return self.find(now).count()

    def prune(self, limit: int, now: datetime | None = None) -> Iterator[int]:
        """Delete them, ``limit`` a transaction; yield the number after each batch."""
        is_over = False
        while not is_over:
            with durable("retention.prune"):
                count, found = self.delete(self.find(now), limit)
            is_over = found < limit
            yield count


def _resolved_letters(now: datetime | None) -> QuerySet[DeadLetter]:
    """Return the dead letters that were replayed or discarded long ago."""
    before = (now or timezone.now()) - timedelta(days=sas.keep_resolved_days)
    # Open letters have no resolved_at.
    return DeadLetter.objects.filter(resolved_at__lt=before)


def _over_sessions(now: datetime | None) -> QuerySet[Session]:
    """Return the expired sessions of visitors, which hold their baskets."""
    return Session.objects.filter(expire_date__lt=now or timezone.now())


def _old_orders(now: datetime | None) -> QuerySet[Order]:
    """Return the orders that ended long ago, together with all their returns."""
    before = (now or timezone.now()) - timedelta(days=sas.keep_processes_days)
    late = Return.objects.filter(order=OuterRef("pk")).exclude(process__finished_at__lt=before)
    return Order.objects.filter(
        ~Exists(late), process__finished_at__lt=before, process__pruned_at__isnull=False
    )


def _over_counts(now: datetime | None) -> QuerySet[RateCount]:
    """Return the rate-limit counts whose period is over."""
    return RateCount.objects.filter(ends_at__lt=now or timezone.now())


def _delete(old: QuerySet[Any], limit: int) -> tuple[int, int]:
    keys = list(old.order_by("pk").values_list("pk", flat=True)[:limit])
    # Filtered again: one may be open again, or have begun a new period.
    return old.filter(pk__in=keys).delete()[0], len(keys)


def _delete_orders(old: QuerySet[Order], limit: int) -> tuple[int, int]:
    """Delete old orders with their lines and returns.

    Their processes are pruned afterwards.  An order's submission key is forgotten with it.
    """
    # Lock the processes, so that none is restarted meanwhile.
    rows = old.select_for_update(of=("process",), skip_locked=True)
    rows = rows.select_related("process").only("process__state")
    orders = list(rows.order_by("process__finished_at")[:limit])
    Order.objects.filter(pk__in=[order.pk for order in orders]).delete()
    return len(orders), len(orders)


def _delete_sessions(old: QuerySet[Session], limit: int) -> tuple[int, int]:
    """Delete expired sessions, the oldest first.

    Finds them by their expiry only: session keys are logins, which a worker need not read.
    """
    ends = list(old.order_by("expire_date").values_list("expire_date", flat=True)[:limit])
    return old.filter(expire_date__lte=ends[-1]).delete()[0] if ends else 0, len(ends)


ORDERS = Old(_old_orders, _delete_orders)
SESSIONS = Old(_over_sessions, _delete_sessions)
LETTERS = Old(_resolved_letters, _delete)
COUNTS = Old(_over_counts, _delete)

register("orders", "orders that ended long ago", ORDERS)
register("dead letters", "messages replayed or discarded long ago", LETTERS)
register("sessions", "visits to the shop that are over", SESSIONS)
register("rate counts", "counts of what visitors asked for, whose period is over", COUNTS)
