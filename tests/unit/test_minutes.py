"""What figures of minutes become in longer spans."""

from datetime import UTC, datetime

from workers.desk.rules.minutes import KEPT, Figures, Level, begin, summed, worst
from workers.desk.states import Span
from workers.rules.breaker import Breaker
from workers.states import BreakerState

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_a_span_begins_where_its_length_divides_the_time():
    at = datetime(2026, 3, 1, 12, 47, 59, 999_999, tzinfo=UTC)
    assert begin(at, Span.MINUTE) == NOON.replace(minute=47)
    assert begin(at, Span.TEN_MINUTES) == NOON.replace(minute=40)
    assert begin(at, Span.HOUR) == NOON
    assert begin(NOON, Span.HOUR) == NOON


def test_counts_and_buckets_add_up_and_workers_do_not():
    figures = [
        Figures("a", {"ok": 3, "expired": 1}, {5: 3}, {1: 4}, workers=2),
        Figures("b", {"ok": 1}, {7: 1}),
        Figures("a", {"ok": 1}, {5: 1, 6: 1}, {}, workers=3),
    ]
    assert summed(figures) == [
        Figures("a", {"ok": 4, "expired": 1}, {5: 4, 6: 1}, {1: 4}, workers=3),
        Figures("b", {"ok": 1}, {7: 1}),
    ]


def test_a_span_stands_as_it_stood_at_its_worst():
    levels = [
        Level("a", 5, 1, 0, 100, None, "closed"),
        Level("a", 2, 4, 1, 50, 8.5, "open"),
        Level("a", 0, 0, 0, 100, 3.0, "half_open"),
    ]
    assert worst(levels) == [Level("a", 5, 4, 1, 100, 8.5, "open")]


def test_each_span_is_kept_for_its_time():
    assert {int(span): kept.days for span, kept in KEPT.items()} == {60: 30, 600: 30, 3600: 365}


def test_an_operator_s_word_stands_before_the_breaker_s_own():
    until = NOON.replace(minute=1)
    assert Breaker().standing(NOON) is BreakerState.CLOSED
    assert Breaker(10, NOON, until).standing(NOON) is BreakerState.OPEN
    assert Breaker(10, NOON, until).standing(until) is BreakerState.HALF_OPEN
    assert Breaker(10, NOON, until, "closed").standing(NOON) is BreakerState.FORCED_CLOSED
    assert Breaker(forced="open").standing(NOON) is BreakerState.FORCED_OPEN
