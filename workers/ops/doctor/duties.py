"""The periodic duties: whether they are scheduled, switched on, and performed."""

from collections.abc import Iterable

from workers.conf import sas
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.definitions.sentences import unended
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import probe
from workers.rules import lateness
from workers.store import leases
from workers.store.db import dialect
from workers.supervisor import beat_schedule

DAY_SECONDS = 86_400
_NAMES = {
    beat_schedule.SWEEP_NAME: _("Expired steps stay where they are until a worker notices."),
    beat_schedule.POLL_NAME: _("Steps whose message was lost wait until a worker notices."),
    beat_schedule.PRUNE_NAME: _("The tables grow without limit."),
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
                warning(
                    _("there is no periodic task %(name)r", name=name),
                    why,
                    _("Run `manage.py migrate`."),
                )
            )
        elif not enabled[name]:
            bad.append(
                warning(
                    _("the periodic task %(name)r is disabled", name=name),
                    why,
                    _("Enable it in the admin, under Periodic tasks."),
                )
            )
    yield from bad or [ok(_("the periodic tasks exist and are enabled"))]


@probe("duties")
def sweep_and_poll_are_performed() -> Iterable[Finding]:
    """Check when the Supervisor last swept and the Scheduler last polled."""
    raising = {failure.name for failure in leases.failing(least=1)}
    for name, interval in ((leases.SWEEP, sas.sweep_seconds), (leases.POLL, sas.poll_seconds)):
        seconds = leases.seconds_since(name)
        if not lateness.is_overdue(seconds, interval):
            yield ok(
                _(
                    "the last %(name)s was %(seconds).0f s ago",
                    name=name,
                    seconds=max(seconds or 0, 0),
                )
            )
            continue
        if seconds is not None and lateness.is_ahead(seconds):
            yield _ahead(_("the last %(name)s is dated", name=name), -seconds)
            continue
        if name in raising:
            # The probe of duties that raise reports it, with the exception.
            continue
        never = _("was never performed")
        since = never if seconds is None else _("is %(seconds).0f s ago", seconds=seconds)
        yield error(
            _("the last %(name)s %(since)s", name=name, since=since),
            _(
                "Nothing recovers meanwhile: expired steps are not retried, and lost messages"
                " are not replaced."
            ),
            _("Start Celery Beat and a worker with -Q sas.scheduler,sas.supervisor,sas.reports."),
        )


@probe("duties")
def none_raises() -> Iterable[Finding]:
    """Look for duties that raised when they were last performed."""
    for failure in leases.failing(least=1):
        again = failure.failures >= leases.FAILURES_BEFORE_ALERT
        yield (error if again else warning)(
            ngettext(
                "the duty %(name)s has raised: %(error)s",
                "the duty %(name)s has raised %(n)d times in a row: %(error)s",
                failure.failures,
                name=failure.name,
                error=unended(failure.error),
            ),
            _("Its work is not done meanwhile. Beat and the workers are running."),
            _(
                "Fix what the exception names, such as a missing database privilege, or report"
                " it as a bug; the workers' log has the traceback."
            ),
        )


def _ahead(what: str, seconds: float) -> Finding:
    return error(
        _(
            "%(what)s %(seconds).0f s in the future: the database's clock was set back",
            what=what,
            seconds=seconds,
        ),
        _(
            "Workers do not wait for that date, but deadlines and backoffs set earlier end"
            " later by that much."
        ),
        _(
            "Run a time service (NTP) on the database's host; retry what should not wait: "
            'see "Steer an order" in the documentation.'
        ),
    )


@probe("duties")
def claims_are_not_dated_in_the_future() -> Iterable[Finding]:
    """Look for claims made before the database's clock was set back."""
    moment, params = dialect.clock(None)
    count, seconds = dialect.fetch(
        "SELECT count(*), max(s.started_at) FROM workers_live l JOIN workers_step s"
        " ON s.id = l.step_id WHERE l.state = 'processing'"
        f" AND s.started_at > {dialect.later(moment, str(lateness.AHEAD_SECONDS))}",
        params,
    )[0]
    latest = dialect.instant(seconds)
    if latest is not None:
        ahead = (latest - dialect.read_clock()).total_seconds()
        what = ngettext("%(n)d claim is dated", "%(n)d claims are dated up to", count)
        yield _ahead(what, ahead)


@probe("duties")
def beat_does_not_wait_for_its_clock() -> Iterable[Finding]:
    """Look for runs that Celery Beat recorded before its clock was set back."""
    for name, seconds in beat_schedule.future_runs():
        yield error(
            _(
                "Celery Beat noted its last run of %(name)r %(seconds).0f s in the future",
                name=name,
                seconds=seconds,
            ),
            _(
                "Its machine's clock was set back, and it triggers nothing until that time;"
                " workers trigger sweep and poll themselves."
            ),
            _("Restart Celery Beat: at start it drops such dates."),
        )


@probe("duties")
def pruning_is_performed() -> Iterable[Finding]:
    """Check when old rows were last pruned."""
    seconds = leases.seconds_since(leases.PRUNE)
    if seconds is None:
        yield info(
            _("nothing has been pruned yet"),
            _("A new installation has nothing to prune yet."),
            _(
                "No action needed: Celery Beat triggers it every %(seconds)s s.",
                seconds=beat_schedule.PRUNE_SECONDS,
            ),
        )
    elif lateness.is_ahead(seconds):
        yield _ahead(_("the last pruning is dated"), -seconds)
    elif seconds > DAY_SECONDS:
        yield warning(
            _("the last pruning was %(days).0f days ago", days=seconds / DAY_SECONDS),
            _("The tables grow."),
            _("Start Celery Beat and a worker with -Q sas.reports, or run `manage.py sas prune`."),
        )
