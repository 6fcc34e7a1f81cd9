"""When only a person can find out what a call in doubt did."""

from datetime import timedelta

import pytest

from tests.unit.build import NOW, a_step
from workers.definitions.effects import Effect
from workers.rules import evidence

HOUR_AGO = NOW - timedelta(hours=1)


@pytest.mark.parametrize(
    ("columns", "is_a_persons"),
    [
        ({"effect": Effect.UNSAFE}, True),
        ({"effect": Effect.NONE}, False),
        ({"effect": Effect.QUERYABLE, "key_retention_seconds": 1}, False),
        ({}, False),
        ({"key_retention_seconds": 3601}, False),
        ({"key_retention_seconds": 3600}, True),
        ({"key_retention_seconds": 1, "key_used_at": None}, False),
    ],
)
def test_a_call_in_doubt_is_repeated_or_asked_after_while_its_service_remembers(
    columns, is_a_persons
):
    step = a_step("a", **({"is_in_doubt": True, "key_used_at": HOUR_AGO} | columns))

    assert evidence.is_doubtful(step, NOW) is is_a_persons
    step.is_in_doubt = False
    assert not evidence.is_doubtful(step, NOW)
