"""Settings: the system checks, run here so that one command reports everything."""

from collections.abc import Iterable

from django.conf import settings
from django.core import checks
from django.db import transaction

from workers.checks import run_without_pages
from workers.conf import BadSetting, sas
from workers.definitions.sentences import say as _
from workers.http import ssrf_guard
from workers.ops.doctor.edited_versions import find_edited
from workers.ops.doctor.finding import REFUSED, Finding, Level, error, info, ok
from workers.ops.doctor.in_flight import find_missing
from workers.ops.doctor.registry import EXAMINED, Need, When, probe


@probe("settings", needs=Need.NOTHING)
def system_checks() -> Iterable[Finding]:
    """Run Django's checks and ours, but for those of pages: a worker has none."""
    bad = [_finding(message) for message in run_without_pages() if not message.is_silenced()]
    yield from bad or [ok(_("the system checks find nothing"))]
    if settings.DEBUG:
        yield info(
            _("DEBUG is on"),
            _(
                "Error pages show settings and code to anyone, and the deployment checks are"
                " skipped."
            ),
            _("Switch DEBUG off for everything but development."),
        )


@probe("settings", needs=Need.NOTHING, applies=lambda: not settings.DEBUG, when=When.ASK)
def deployment_checks() -> Iterable[Finding]:
    """Run the checks of a deployment and of pages: a worker has no static files."""
    others = {str(message) for message in run_without_pages()}
    bad = [
        _finding(message)
        for message in checks.run_checks(include_deployment_checks=True)
        if not message.is_silenced() and str(message) not in others
    ]
    yield from bad or [ok(_("the checks of a deployment find nothing"))]


@probe("settings", when=EXAMINED | When.START)
def code_has_what_orders_need() -> Iterable[Finding]:
    """Look for workflow versions, steps and agents that orders in flight need and no code has.

    It must not stop `migrate`, a worker, which leaves unknown definitions to others, or `order
    cancel`, which is a remedy.
    """
    # A block of its own: a failed statement must not spoil the caller's transaction.
    with transaction.atomic():
        return [*find_missing(), *find_edited()]


@probe("settings", needs=Need.NOTHING, when=When.ASK | When.START)
def ping_url_can_be_called() -> Iterable[Finding]:
    """Check the URL of the monitor outside: one that is never called would prove nothing."""
    try:
        problem = ssrf_guard.problem_of_url(sas.ping_url) if sas.ping_url else None
    except BadSetting:
        # workers.E001 reports it.
        return
    if problem:
        yield error(
            _("SAS_PING_URL %(problem)s", problem=problem),
            _("The monitor is never called, and raises the alarm."),
            _(
                "Give the https URL of a monitor outside, or set SAS_WEBHOOK_PRIVATE_ADDRESSES=on"
                " for one in your own network."
            ),
            check="workers.E025",
        )


def _finding(message: checks.CheckMessage) -> Finding:
    level = Level.ERROR if message.level >= checks.ERROR else Level.WARNING
    return Finding(
        level,
        _("%(id)s: %(text)s", id=message.id or "", text=str(message.msg).rstrip(".")),
        REFUSED,
        str(message.hint or ""),
    )
