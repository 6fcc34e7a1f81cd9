"""What is counted while the whole system runs beside slow services."""

from datetime import timedelta

import pytest

from benchmarks.exceptions import Wrong
from benchmarks.ours import stack
from benchmarks.ours.again import again
from workers.client.submission import submit
from workers.models import Process


@pytest.mark.django_db
def test_what_was_called_again_is_a_share_of_the_claims():
    assert again() == {"claims": 0, "again": 0, "again_percent": None}
    first, second = (submit("toy_line", subject=str(n), input={}) for n in range(2))
    first.steps.filter(name="one").update(attempt=3)
    second.steps.filter(name="one").update(attempt=1)

    assert again() == {"claims": 4, "again": 2, "again_percent": 50.0}


@pytest.fixture
def processes() -> list[Process]:
    """Return four processes of which three have ended, 2, 3 and 7 s after they came."""
    made = [submit("toy_line", subject=str(n), input={}) for n in range(4)]
    for process, seconds in zip(made, (2, 3, 7), strict=False):
        ended = process.created_at + timedelta(seconds=seconds)
        Process.objects.filter(pk=process.pk).update(state="processed", finished_at=ended)
    return made


@pytest.mark.django_db
def test_an_order_without_an_end_is_later_than_all_others(processes):
    last_due = processes[0].created_at.timestamp()

    found = stack._ends(4, 3, last_due, 120.0)

    assert (found["ended"], found["last_ended_s"]) == (3, 120.0)
    assert (found["p50_s"], found["p95_s"]) == (pytest.approx(3.0), None)


@pytest.mark.django_db
def test_the_last_end_counts_from_the_last_submission(processes):
    Process.objects.filter(finished_at=None).delete()
    last_due = Process.objects.latest("finished_at").finished_at.timestamp() - 4

    assert stack._ends(3, 3, last_due, 120.0)["last_ended_s"] == pytest.approx(4.0)


@pytest.mark.django_db
def test_an_order_that_was_not_processed_has_no_figure(processes):
    Process.objects.filter(pk=processes[0].pk).update(state="compensated")

    with pytest.raises(Wrong, match="1 of 3 orders ended otherwise"):
        stack._ends(4, 3, 0.0, 120.0)
