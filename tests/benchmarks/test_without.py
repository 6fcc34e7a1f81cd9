"""What ``BENCH_WITHOUT`` leaves out is left out."""

import pytest

from benchmarks.app.without import leave_out
from tests.integration.conftest import NOW
from workers.client.submission import submit
from workers.models import Journal, Process
from workers.store import journal
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db


def test_without_the_journal_nothing_writes_it(monkeypatch):
    beat_schedule.ensure_flow()
    submit("toy_line", subject="Toy", input={}, now=NOW)
    assert Journal.objects.count() == 1
    # Put back what is patched for a measurement.
    monkeypatch.setattr(journal, "write", journal.write)
    monkeypatch.setenv("BENCH_WITHOUT", "journal")

    leave_out()

    submit("toy_line", subject="Toy", input={}, now=NOW)
    assert (Journal.objects.count(), Process.objects.count()) == (1, 2)
