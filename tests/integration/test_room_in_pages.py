"""What a change of a row costs PostgreSQL beside the row itself."""

import pytest
from django.db import connection
from django.db.models import F

from tests.concurrency.test_races import on_postgres
from workers import schedule
from workers.models import Process
from workers.rows import NewProcess
from workers.submission import submit_many

pytestmark = pytest.mark.django_db


def hot_updates() -> int:
    """Return a count that grows with each change of a process that touches no index."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated('workers_process'::regclass)")
        return int(cursor.fetchone()[0])


@on_postgres
def test_a_process_that_takes_a_number_stays_on_its_page() -> None:
    schedule.ensure_flow()
    submitted = submit_many("toy_line", [NewProcess(f"Order {n}", {}) for n in range(100)])

    # A few of those that were written first: the pages behind them are as full as they get.
    few = [process.pk for process in submitted[:5]]
    before = hot_updates()
    Process.objects.filter(pk__in=few).update(sequence=F("sequence") + 1)

    assert hot_updates() - before == 5
