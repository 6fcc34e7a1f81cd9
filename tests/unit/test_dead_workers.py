"""What a step keeps of claims whose worker died over them."""

from uuid import uuid4

import pytest

from tests.unit.build import a_step
from tests.unit.test_apply_reply import a_fault
from workers.rules import dead_workers


def test_the_first_death_is_said_as_it_was():
    step = a_step("a")
    step.fault = dead_workers.fault_of(step, "signal 9")

    fault = dead_workers.of_claim(step)

    assert fault is not None
    assert (fault.kind, fault.code, fault.deaths) == ("expired", "worker_died", 1)
    assert fault.message == "its worker died: signal 9"


def test_deaths_one_behind_the_other_are_counted():
    step = a_step("a")
    for _ in range(3):
        step.claim_id = uuid4()
        step.fault = dead_workers.fault_of(step, "signal 9")
    step.failure_count = 2
    fault = dead_workers.of_claim(step)
    assert fault is not None
    assert fault.message == "its worker died in each of 3 attempts: signal 9"

    step.failure_count = 4
    fault = dead_workers.of_claim(step)
    assert fault is not None
    assert fault.message == "its worker died in the last 3 attempts: signal 9"


@pytest.mark.parametrize("failure_count", [0, 2, 7])
def test_what_is_said_without_the_attempts_is_what_the_first_said(failure_count):
    step = a_step("a", failure_count=failure_count)
    first = dead_workers.fault_of(step, "signal 9").message
    for _ in range(3):
        step.claim_id = uuid4()
        step.fault = dead_workers.fault_of(step, "signal 9")
    fault = dead_workers.of_claim(step)
    assert fault is not None
    assert fault.message != first
    assert dead_workers.once(fault.message) == first == dead_workers.once(first)


def test_another_fault_between_them_ends_the_row():
    step = a_step("a", fault=a_fault("transient", deaths=7))

    assert dead_workers.fault_of(step, "signal 9").deaths == 1


def test_nothing_is_said_of_a_claim_whose_worker_did_not_die():
    step = a_step("a")
    assert dead_workers.of_claim(step) is None
    step.fault = a_fault("transient")
    assert dead_workers.of_claim(step) is None
    step.fault = dead_workers.fault_of(step, "signal 9")
    step.claim_id = uuid4()
    assert dead_workers.of_claim(step) is None
    step.claim_id = None
    assert dead_workers.of_claim(step) is None
