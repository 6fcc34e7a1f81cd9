"""When a periodic duty is late, by its age."""

import pytest

from workers.rules.lateness import is_ahead, is_overdue


@pytest.mark.parametrize(
    ("seconds", "is_late"),
    [(None, True), (0.0, False), (17.0, False), (17.1, True), (-2.0, False), (-2.1, True)],
)
def test_a_duty_is_late_after_three_intervals_and_a_little(seconds, is_late):
    assert is_overdue(seconds, interval=5) is is_late


def test_two_clocks_may_differ_a_little():
    assert not is_ahead(-2.0)
    assert is_ahead(-2.1)
