"""The periodic duties exist after `migrate`, and operators may change them."""

from django_celery_beat.models import PeriodicTask

from workers.models import Flow
from workers.supervisor import beat_schedule

SWEEP = "Supervisor: sweep for expired steps"
POLL = "Scheduler: poll"
PRUNE = "Retention: prune"


def test_sweep_and_poll_are_there_after_migrate():
    rows = (
        PeriodicTask.objects.filter(task__startswith="workers.")
        .order_by("name")
        .values_list(
            "name",
            "task",
            "queue",
            "interval__every",
            "interval__period",
            "enabled",
            "expire_seconds",
        )
    )

    assert list(rows) == [
        (PRUNE, "workers.prune", "sas.reports", 600, "seconds", True, 1800),
        (POLL, "workers.advance", "sas.scheduler", 5, "seconds", True, 15),
        (SWEEP, "workers.sweep", "sas.supervisor", 2, "seconds", True, 6),
    ]


def test_what_an_operator_changed_stays():
    PeriodicTask.objects.filter(name=SWEEP).update(enabled=False)
    Flow.objects.filter(agent="payment.charge").update(window=7)

    beat_schedule.ensure()

    assert not PeriodicTask.objects.get(name=SWEEP).enabled
    assert Flow.objects.get(agent="payment.charge").window == 7
    assert PeriodicTask.objects.filter(task__startswith="workers.").count() == 3


def test_every_agent_has_its_flow_row():
    windows = dict(Flow.objects.values_list("agent", "window"))

    assert windows["shipping.book"] == 400
    assert windows["toy.gamma"] == 3
