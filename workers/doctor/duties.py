"""The periodic duties: whether they are there, switched on, and performed."""

from collections.abc import Iterable

from workers import retention, schedule
from workers.conf import sas
from workers.doctor.finding import Finding, error, info, ok, warning
from workers.doctor.registry import probe
from workers.overdue import LATE_INTERVALS, LOOK_SECONDS
from workers.store import leases, pruning

DAY_SECONDS = 86_400
_NAMES = {
    schedule.SWEEP_NAME: "Expired steps stay where they are until a worker notices.",
    schedule.POLL_NAME: "Steps whose message was lost wait until a worker notices.",
    schedule.PRUNE_NAME: "The tables grow for ever.",
}


@probe("duties")
def are_scheduled() -> Iterable[Finding]:
    """Look for the periodic tasks in Beat's tables."""
    from django_celery_beat.models import PeriodicTask

    enabled = dict(PeriodicTask.objects.filter(name__in=_NAMES).values_list("name", "enabled"))
    bad = []
    for name, why in _NAMES.items():
        if name not in enabled:
            bad.append(
                warning(f"there is no periodic task {name!r}", why, "Run `manage.py migrate`.")
            )
        elif not enabled[name]:
            bad.append(
                warning(
                    f"the periodic task {name!r} is switched off",
                    why,
                    "Enable it in the admin, under Periodic tasks.",
                )
            )
    yield from bad or [ok("the periodic tasks are there and switched on")]


@probe("duties")
def sweep_and_poll_are_performed() -> Iterable[Finding]:
    """Look when the Supervisor last swept and the Scheduler last polled."""
    for name, interval in ((leases.SWEEP, sas.sweep_seconds), (leases.POLL, sas.poll_seconds)):
        seconds = leases.seconds_since(name)
        late = LATE_INTERVALS * interval + LOOK_SECONDS
        if seconds is not None and seconds <= late:
            yield ok(f"the last {name} was {max(seconds, 0):.0f} s ago")
            continue
        since = "was never performed" if seconds is None else f"is {seconds:.0f} s ago"
        yield error(
            f"the last {name} {since}",
            "Nothing heals meanwhile: no expired step is tried again, no lost message replaced.",
            "Start Celery Beat and a worker with -Q sas.scheduler,sas.replies,sas.supervisor,"
            "sas.reports.",
        )


@probe("duties")
def pruning_is_performed() -> Iterable[Finding]:
    """Look when what is over was last pruned."""
    seconds = leases.seconds_since(pruning.JOURNALS)
    if seconds is None:
        yield info(
            "nothing was ever pruned",
            "A new installation has nothing to prune yet.",
            f"Nothing; Celery Beat asks for it every {retention.INTERVAL_SECONDS} s.",
        )
    elif seconds > DAY_SECONDS:
        yield warning(
            f"the last pruning was {seconds / DAY_SECONDS:.0f} days ago",
            "The tables grow.",
            "Start Celery Beat and a worker with -Q sas.reports, or run `manage.py prune`.",
        )
