"""The periodic duties as django-celery-beat rows, there without anyone clicking."""

from typing import Any

from workers import registry, retention
from workers.conf import sas
from workers.dispatch import (
    ADVANCE,
    PRUNE,
    REPORTS_QUEUE,
    SCHEDULER_QUEUE,
    SUPERVISOR_QUEUE,
    SWEEP,
)
from workers.store import flow

SWEEP_NAME = "Supervisor: sweep for expired steps"
POLL_NAME = "Scheduler: poll"
PRUNE_NAME = "Retention: prune"
_HEALS = "Made by the engine. Orders heal only while it is enabled."
_FORGETS = "Made by the engine. Deletes what is older than SAS_KEEP_... days; off = nothing goes."


def ensure(**kwargs: Any) -> None:
    """Make the rows the engine needs: periodic duties and flow rows.

    Runs after every `migrate` and may be repeated.  Rows that exist keep what an operator
    has changed in them.
    """
    # Imported here: the models of an app in INSTALLED_APPS cannot be loaded before ours.
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    for name, task, queue, seconds, says in (
        (SWEEP_NAME, SWEEP, SUPERVISOR_QUEUE, sas.sweep_seconds, _HEALS),
        (POLL_NAME, ADVANCE, SCHEDULER_QUEUE, sas.poll_seconds, _HEALS),
        # Beside the relay: a round takes seconds, which no sweep must wait for.
        (PRUNE_NAME, PRUNE, REPORTS_QUEUE, retention.INTERVAL_SECONDS, _FORGETS),
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
                "description": says,
            },
        )
    ensure_flow()


def ensure_flow() -> None:
    """Make the flow rows of agents this code has and the database has not."""
    flow.ensure({agent.name: agent.window or int(sas.window) for agent in registry.agents()})
