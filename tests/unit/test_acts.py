"""Which rows of a person are acts, and which followed from one."""

import pytest

from workers.rules.acts import is_act


@pytest.mark.parametrize(
    ("event", "of_step"),
    [
        ("compensating", False),
        ("resubmitted", False),
        ("resubmitted", True),
        ("paused", False),
        ("processed", True),
        ("skipped", True),
        ("incident_taken", False),
        ("exported", False),
        ("of an app's own", False),
    ],
)
def test_what_somebody_did_is_an_act(event: str, of_step: bool) -> None:
    assert is_act(event, of_step=of_step)


@pytest.mark.parametrize(
    ("event", "of_step"),
    [
        ("cancelled", True),
        ("cancelled", False),
        ("ready", True),
        ("processed", False),
        ("begins_again", True),
        ("handed_back", True),
    ],
)
def test_what_followed_is_none(event: str, of_step: bool) -> None:
    assert not is_act(event, of_step=of_step)
