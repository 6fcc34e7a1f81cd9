"""The periodic duties as django-celery-beat rows, there without anyone clicking."""

from typing import Any

from workers import registry
from workers.conf import sas
from workers.dispatch import ADVANCE, SCHEDULER_QUEUE, SUPERVISOR_QUEUE, SWEEP
from workers.store import flow


def ensure(**kwargs: Any) -> None:
    """Make the rows the engine needs: periodic duties and flow rows.

    Runs after every `migrate` and may be repeated.  Rows that exist keep what an operator
    has changed in them.
    """
    # Imported here: the models of an app in INSTALLED_APPS cannot be loaded before ours.
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    for name, task, queue, seconds in (
        ("Supervisor: sweep for expired steps", SWEEP, SUPERVISOR_QUEUE, sas.sweep_seconds),
        ("Scheduler: poll", ADVANCE, SCHEDULER_QUEUE, sas.poll_seconds),
    ):
        interval, _ = IntervalSchedule.objects.get_or_create(
            every=max(1, round(seconds)), period=IntervalSchedule.SECONDS
        )
        PeriodicTask.objects.get_or_create(
            name=name,
            defaults={
                "task": task,
                "queue": queue,
                "interval": interval,
                # One that waited for longer than its next three is of no use to anybody.
                "expire_seconds": max(2, round(3 * seconds)),
                "description": "Made by the engine. Orders heal only while it is enabled.",
            },
        )
    ensure_flow()


def ensure_flow() -> None:
    """Make the flow rows of agents this code has and the database has not."""
    flow.ensure({agent.name: agent.window or int(sas.window) for agent in registry.agents()})
