"""What a step row says of itself."""

from datetime import timedelta

import pytest

from tests.unit.build import NOW, a_step


@pytest.mark.parametrize(
    ("key", "generation"), [("stem:3:1", 1), ("stem:3:12", 12), ("", 1), ("stem", 1)]
)
def test_the_generation_is_the_last_part_of_the_key(key, generation):
    assert a_step("a", idempotency_key=key).generation == generation


def test_a_new_generation_has_a_new_key_and_no_past():
    step = a_step("a", idempotency_key="stem:3:9", key_used_at=NOW, early={"result": {}})
    step.begin_generation()

    assert (step.idempotency_key, step.key_used_at, step.early) == ("stem:3:10", None, None)


def test_an_agent_is_at_work_once_it_has_started_and_until_it_defers():
    step = a_step("a")
    assert step.is_at_work
    step.deferral = {"seconds": 60}
    assert (step.is_deferred, step.is_at_work) == (True, False)
    assert not a_step("a", started_at=None).is_at_work
    assert not a_step("a", "pending").is_at_work


def test_time_that_was_nobodys_does_not_count_as_the_steps_own():
    step = a_step("a", began_at=NOW)
    step.leave_out(timedelta(seconds=5))
    step.leave_out(timedelta(seconds=-5))
    assert step.began_at == NOW + timedelta(seconds=5)

    step.give_attempts_back()
    step.leave_out(timedelta(seconds=5))
    assert step.began_at is None
