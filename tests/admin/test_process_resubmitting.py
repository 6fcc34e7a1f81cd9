"""Resubmitting a process of any workflow, also where only a person knows what happened."""

import pytest

from tests.admin import toys
from tests.admin.conftest import every_row
from tests.admin.test_verbs import CASES
from tests.factories import put
from tests.toyflow import agents as toy
from workers.models import Process, Step

CASE = CASES["resubmit"]


@pytest.fixture
def doubtful(wire) -> Process:
    """A process whose step in error may have had an effect that must not be repeated."""
    process = toys.failed(wire)
    put(
        Step.objects.filter(process=process, name="then"),
        effect="unsafe",
        is_in_doubt=True,
        may_have_effect=True,
    )
    return process


def test_a_plain_one_asks_for_no_more_than_a_reason(operator, wire):
    process = toys.failed(wire)
    html = operator.get(CASE.url(process)).content.decode()
    assert "nothing_happened" not in html
    assert "then is given to toy.gamma again, with 3 attempts." in html
    toy.script.clear()
    operator.post(CASE.url(process), CASE.filled(process))
    wire.run_until_idle()
    process.refresh_from_db()
    assert process.state == "processed"


def test_one_of_unknown_outcome_asks_to_make_sure(operator, doubtful):
    before = every_row()
    html = operator.get(CASE.url(doubtful)).content.decode()
    assert "Nobody knows whether then happened." in html
    assert 'name="nothing_happened"' in html

    assert operator.post(CASE.url(doubtful), CASE.filled(doubtful)).status_code == 400
    assert every_row() == before

    form = CASE.filled(doubtful, nothing_happened="on")
    assert operator.post(CASE.url(doubtful), form).status_code == 302
    step = Step.objects.get(process=doubtful, name="then")
    assert (step.state, step.may_have_effect) == ("pending", False)
