"""Insert the periodic duties as django-celery-beat rows, without manual setup."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.utils import timezone

from workers.conf import sas
from workers.definitions import registry
from workers.rules import lateness
from workers.store import installation
from workers.store.flow import flow_control
from workers.wire.dispatch import (
    ADVANCE,
    PRUNE,
    REPORTS_QUEUE,
    SCHEDULER_QUEUE,
    SUPERVISOR_QUEUE,
    SWEEP,
)

SWEEP_NAME = "Supervisor: sweep for expired steps"
POLL_NAME = "Scheduler: poll"
PRUNE_NAME = "Retention: prune"
#: How often a round of pruning is requested.
PRUNE_SECONDS = 600
_HEALS = "Made by the engine. Orders heal only while it is enabled."
_FORGETS = "Made by the engine. Deletes what is older than SAS_KEEP_... days; off = nothing goes."


def ensure(**kwargs: Any) -> None:
    """Insert the rows that the engine needs: installation, periodic duties and flow rows.

    Runs after every `migrate` and may be repeated.  Existing rows keep an operator's changes.
    """
    # Imported here: the models of another app in INSTALLED_APPS cannot be loaded before ours.
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    for name, task, queue, seconds, says in (
        (SWEEP_NAME, SWEEP, SUPERVISOR_QUEUE, sas.sweep_seconds, _HEALS),
        (POLL_NAME, ADVANCE, SCHEDULER_QUEUE, sas.poll_seconds, _HEALS),
        # In the relay's queue: a round takes seconds, and no sweep may wait for it.
        (PRUNE_NAME, PRUNE, REPORTS_QUEUE, PRUNE_SECONDS, _FORGETS),
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
                # A message that waited longer than three intervals is useless.
                "expire_seconds": max(2, round(3 * seconds)),
                "description": says,
            },
        )
    installation.ensure()
    ensure_flow()


def future_runs() -> list[tuple[str, float]]:
    """Return the tasks that Beat recorded as run in the future, and by how many seconds."""
    from django_celery_beat.models import PeriodicTask

    now = timezone.now()
    tasks = PeriodicTask.objects.filter(
        enabled=True, last_run_at__gt=now + timedelta(seconds=lateness.AHEAD_SECONDS)
    ).order_by("name")
    return [
        (name, (at - now).total_seconds()) for name, at in tasks.values_list("name", "last_run_at")
    ]


def drop_future_runs(entries: Iterable[Any]) -> int:
    """Keep Beat from waiting for the date of a run that it recorded in the future.

    Its clock was set back since.  ``entries`` are those Beat has read.  Returns how many changed.
    """
    from django_celery_beat.models import PeriodicTask

    ahead = dict(future_runs())
    dropped = [entry for entry in entries if entry.name in ahead]
    for entry in dropped:
        entry.last_run_at = entry.model.last_run_at = timezone.now()
        # Not its `save`, which would notify Beat of a change.
        PeriodicTask.objects.filter(name=entry.name).update(last_run_at=entry.last_run_at)
    return len(dropped)


def ensure_flow() -> None:
    """Insert missing flow rows for the agents in this code."""
    flow_control.ensure(
        {
            agent.name: (agent.window or int(sas.window), agent.rate, agent.deferred_window)
            for agent in registry.agents()
        }
    )
