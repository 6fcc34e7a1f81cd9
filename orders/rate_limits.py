"""Rate limits for anonymous visitors, counted in rows that all processes share."""

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
    """How many requests are allowed in a period of ``seconds``."""

    name: str
    most: int
    seconds: int


def first_exceeded(
    limits: Sequence[tuple[Limit, str]], now: datetime | None = None
) -> Limit | None:
    """Count a request under each limit for its subject; return the first that is exceeded.

    Later limits are not counted then: with the limit on all visitors first, strangers create no
    more rows in a period than it allows.
    """
    at = now or timezone.now()
    for limit, subject in limits:
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
        # One statement, so that no concurrent count is lost.
        RateCount.objects.filter(key=key).update(
            count=Case(When(period=period, then=F("count") + 1), default=Value(1)),
            period=period,
            ends_at=ends_at,
        )
        return RateCount.objects.values_list("count", flat=True).get(key=key)
