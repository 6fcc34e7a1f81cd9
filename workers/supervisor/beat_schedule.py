"""The periodic duties as django-celery-beat rows, there without anyone clicking."""

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
#: How often a round of pruning is asked for.
PRUNE_SECONDS = 600
_HEALS = "Made by the engine. Orders heal only while it is enabled."
_FORGETS = "Made by the engine. Deletes what is older than SAS_KEEP_... days; off = nothing goes."


def ensure(**kwargs: Any) -> None:
    """Make the rows the engine needs: this installation's, periodic duties and flow rows.

    Runs after every `migrate` and may be repeated.  Rows that exist keep what an operator
    has changed in them.
    """
    # Imported here: the models of an app in INSTALLED_APPS cannot be loaded before ours.
    from django_celery_beat.models import IntervalSchedule, PeriodicTask

    for name, task, queue, seconds, says in (
        (SWEEP_NAME, SWEEP, SUPERVISOR_QUEUE, sas.sweep_seconds, _HEALS),
        (POLL_NAME, ADVANCE, SCHEDULER_QUEUE, sas.poll_seconds, _HEALS),
        # Beside the relay: a round takes seconds, which no sweep must wait for.
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
                # One that waited for longer than its next three is of no use to anybody.
                "expire_seconds": max(2, round(3 * seconds)),
                "description": says,
            },
        )
    installation.ensure()
    ensure_flow()


def future_runs() -> list[tuple[str, float]]:
    """Return which tasks Beat noted as run in the future by this machine's clock, and how far."""
    from django_celery_beat.models import PeriodicTask

    now = timezone.now()
    found = PeriodicTask.objects.filter(
        enabled=True, last_run_at__gt=now + timedelta(seconds=lateness.AHEAD_SECONDS)
    ).order_by("name")
    return [
        (name, (at - now).total_seconds()) for name, at in found.values_list("name", "last_run_at")
    ]


def drop_future_runs(entries: Iterable[Any]) -> int:
    """Have Beat, which has read these entries, not wait for the date of a run in the future.

    Its clock was set back since it noted that.  Returns how many entries it was.
    """
    from django_celery_beat.models import PeriodicTask

    ahead = dict(future_runs())
    dropped = [entry for entry in entries if entry.name in ahead]
    for entry in dropped:
        entry.last_run_at = entry.model.last_run_at = timezone.now()
        # Not its `save`, which would tell Beat of a change.
        PeriodicTask.objects.filter(name=entry.name).update(last_run_at=entry.last_run_at)
    return len(dropped)


def ensure_flow() -> None:
    """Make the flow rows of agents this code has and the database has not."""
    flow_control.ensure(
        {
            agent.name: (agent.window or int(sas.window), agent.rate, agent.deferred_window)
            for agent in registry.agents()
        }
    )
