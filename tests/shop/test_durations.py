"""Times as buyers read them."""

import pytest

from orders.tracking import countdown, duration


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5.0, "0 s"),
        (0.4, "0 s"),
        (12.3, "12 s"),
        (59.6, "1 min 00 s"),
        (125.0, "2 min 05 s"),
        (3600.0, "1 h 00 min"),
        (3900.0, "1 h 05 min"),
    ],
)
def test_a_duration_is_short_and_has_its_unit(seconds, words):
    assert duration(seconds) == words


def test_a_countdown_carries_what_the_script_needs():
    assert countdown(12.34, "%s left", "any moment now") == (
        '<span class="countdown" role="timer" data-remaining="12.3" data-text="%s left" '
        'data-over="any moment now">12 s left</span>'
    )


def test_a_countdown_that_is_over_says_so():
    assert countdown(-3.0, "%s", "a moment").endswith(
        'data-remaining="0.0" data-text="%s" data-over="a moment">a moment</span>'
    )
