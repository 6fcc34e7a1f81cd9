"""Limits on what strangers may ask for: counted in rows, so that all processes count as one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import Case, F, Value, When
from django.utils import timezone
from django.utils.crypto import salted_hmac

from orders.models import RateCount
from workers import durable


@dataclass(frozen=True, slots=True)
class Limit:
    """How often within a period something may be asked for."""

    name: str
    most: int
    seconds: int


def first_exceeded(
    counted: Sequence[tuple[Limit, str]], now: datetime | None = None
) -> Limit | None:
    """Count one question under each limit for its subject; return the first that is exceeded.

    What comes after that one is not counted: with the limit on all together first, strangers make
    no more rows in a period than that limit allows.
    """
    at = now or timezone.now()
    for limit, subject in counted:
        if _count(limit, subject, at) > limit.most:
            return limit
    return None


def _count(limit: Limit, subject: str, at: datetime) -> int:
    period = int(at.timestamp()) // limit.seconds
    ends_at = datetime.fromtimestamp((period + 1) * limit.seconds, tz=UTC)
    key = salted_hmac(f"orders.rate_limits.{limit.name}", subject, algorithm="sha256").hexdigest()
    with durable("rate_limits.count"):
        RateCount.objects.bulk_create(
            [RateCount(key=key, period=period, count=0, ends_at=ends_at)], ignore_conflicts=True
        )
        # One statement: two processes that count at once both count.
        RateCount.objects.filter(key=key).update(
            count=Case(When(period=period, then=F("count") + 1), default=Value(1)),
            period=period,
            ends_at=ends_at,
        )
        return RateCount.objects.values_list("count", flat=True).get(key=key)
