"""The breaker: opens on answers that the service was not reached, probes, and closes."""

from datetime import UTC, datetime, timedelta

import pytest

from workers.rules.breaker import Breaker

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def after(breaker: Breaker, answers: list[bool], seconds: float = 0) -> Breaker:
    return breaker.after(answers, NOW + timedelta(seconds=seconds), 3, 30)


def test_it_opens_at_the_threshold_and_not_before():
    assert after(Breaker(), [False, False]) == Breaker(streak=2)

    opened = after(Breaker(), [False] * 3)

    assert opened == Breaker(3, NOW, NOW + timedelta(seconds=30))


def test_one_good_answer_begins_the_count_afresh():
    assert after(Breaker(streak=2), [True, False]) == Breaker(streak=1)


@pytest.mark.parametrize(
    ("seconds", "in_flight", "room"),
    [(0, 0, 0), (29, 0, 0), (30, 0, 1), (30, 1, 0), (30, 50, 0)],
    ids=["just opened", "still open", "probe", "probe under way", "draining"],
)
def test_an_open_breaker_lets_one_probe_through_when_its_time_is_over(seconds, in_flight, room):
    opened = after(Breaker(), [False] * 3)

    assert opened.room(NOW + timedelta(seconds=seconds), 100, in_flight) == room


def test_answers_that_were_under_way_do_not_open_it_anew():
    opened = after(Breaker(), [False] * 3)

    later = after(opened, [False] * 20, seconds=5)

    assert (later.opened_at, later.open_until) == (opened.opened_at, opened.open_until)


def test_a_probe_that_fails_opens_it_again_since_the_first_time():
    opened = after(Breaker(), [False] * 3)

    again = after(opened, [False], seconds=31)

    assert again.opened_at == NOW
    assert again.open_until == NOW + timedelta(seconds=61)


def test_a_probe_that_succeeds_closes_it():
    opened = after(Breaker(), [False] * 3)

    assert after(opened, [True], seconds=31) == Breaker()
    assert Breaker().room(NOW, 100, 40) == 60
