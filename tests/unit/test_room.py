"""How many more calls a service may get: the least of window, answers outstanding, and rate."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.rules.room import room_left

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Flow:
    window: int = 10
    breaker: Breaker = field(default_factory=Breaker)
    bucket: Bucket | None = None
    deferred_window: int | None = None
    in_flight: int = 3
    outstanding: int = 0


def test_the_window_less_what_is_in_flight():
    assert room_left(_Flow(), NOW) == 7
    assert room_left(_Flow(in_flight=12), NOW) == 0


def test_none_behind_a_breaker():
    assert room_left(_Flow(breaker=Breaker(5, NOW, NOW + timedelta(seconds=30))), NOW) == 0


def test_no_more_than_answers_may_be_outstanding():
    flow = _Flow(deferred_window=8, outstanding=4)
    assert room_left(flow, NOW) == 1
    assert room_left(replace(flow, outstanding=6), NOW) == 0


def test_no_more_than_the_rate_has_tokens():
    assert room_left(_Flow(bucket=Bucket(10, tokens=1.9)), NOW) == 1
