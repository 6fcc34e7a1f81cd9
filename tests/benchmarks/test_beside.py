"""How long the steps of a quick agent take from when they are ready."""

from datetime import timedelta

import pytest
from django.utils import timezone

from benchmarks.exceptions import Wrong
from benchmarks.ours import beside
from workers.client.submission import submit
from workers.models import Process, Step

pytestmark = pytest.mark.django_db


def test_a_step_counts_from_the_end_of_the_one_before(monkeypatch):
    monkeypatch.setattr(beside, "QUICK", "toy_line")
    process = submit("toy_line", subject="quick", input={})
    submit("toy_diamond", subject="slow", input={})
    began = timezone.now()
    Process.objects.update(created_at=began)
    now = began + timedelta(seconds=9)

    # Nothing can be said of what comes after a step that is still at it.
    assert list(beside._waits(now)) == [9]
    first = Step.objects.filter(process=process).order_by("position")[:1]
    Step.objects.filter(pk__in=first).update(finished_at=began + timedelta(seconds=2))
    assert list(beside._waits(now)) == [2, 7]


def test_a_run_with_no_slow_call_beside_it_is_no_figure():
    with pytest.raises(Wrong, match="no call of the slow agent"):
        beside._refuse_idle_service(4.0, 0)
    beside._refuse_idle_service(4.0, 1)
    beside._refuse_idle_service(0.0, 0)
