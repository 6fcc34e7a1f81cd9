"""Two polls at one instant, and one beside an operator: each instant begins one process."""

from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

import workers
from tests.concurrency.racing import race
from workers import Schedule
from workers.client import schedules
from workers.models import Process
from workers.models import Schedule as Row
from workers.operate import schedules as firing
from workers.store import schedules as rows
from workers.supervisor import beat_schedule

pytestmark = pytest.mark.django_db(transaction=True)

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)
BY = {"actor": "operator:ann", "reason": "because"}


@pytest.fixture(autouse=True)
def flow_rows(transactional_db) -> None:
    beat_schedule.ensure()
    for name in ("one", "two"):
        wanted = Schedule(
            *(name, "toy_line"),
            cron="0 * * * *",
            overlap="both",
            catch_up=timedelta(hours=12),
        )
        workers.schedule(wanted, now=NINE - timedelta(minutes=30))


def poll():
    now = NINE + timedelta(hours=6, minutes=1)
    for row_id, name in rows.due(500, now):
        firing.fire(row_id, name, now)


@pytest.mark.parametrize("round_", range(5))
def test_eight_polls_at_once_fire_each_instant_once(round_):
    race([poll] * 8)
    keys = list(Process.objects.values_list("submission_key", flat=True))
    assert len(keys) == len(set(keys)) == 14
    assert set(Row.objects.values_list("missed", "skipped")) == {(0, 0)}
    assert set(Row.objects.values_list("next_at", flat=True)) == {NINE + timedelta(hours=7)}


def test_polls_beside_a_pause_fire_all_of_a_schedule_or_nothing():
    race([poll, partial(schedules.pause, "one", **BY), poll])
    begun = Process.objects.filter(submission_key__startswith="schedule:one:").count()
    row = Row.objects.get(name="one")
    assert row.paused_at is not None
    assert begun == (7 if row.next_at == NINE + timedelta(hours=7) else 0)


def test_second_backfill_is_refused_while_the_first_is_under_way():
    window = NINE - timedelta(hours=10), NINE - timedelta(hours=1)
    results = race([partial(schedules.backfill, "one", *window, **BY)] * 4)
    assert sum(isinstance(result, list) for result in results) == 1
