"""Settings: the system checks, run here so that one command reports everything."""

from collections.abc import Iterable

from django.conf import settings
from django.core import checks

from workers.checks import run_without_pages
from workers.definitions.sentences import say as _
from workers.ops.checks.edited_versions import find_edited
from workers.ops.checks.in_flight import find_missing
from workers.ops.doctor.finding import Finding, Level, info, ok
from workers.ops.doctor.registry import Need, probe


@probe("settings", needs=Need.NOTHING)
def system_checks() -> Iterable[Finding]:
    """Run Django's checks and ours, but for those of pages: a worker has none."""
    bad = [_finding(message) for message in run_without_pages() if not message.is_silenced()]
    yield from bad or [ok(_("the system checks find nothing"))]
    if settings.DEBUG:
        yield info(
            _("DEBUG is on"),
            _(
                "Pages of errors show settings and code to whoever sees them, and the checks for a "
                "deployment are left out."
            ),
            _("Switch DEBUG off for everything but development."),
        )


@probe("settings", needs=Need.NOTHING, applies=lambda: not settings.DEBUG, in_rounds=False)
def deployment_checks() -> Iterable[Finding]:
    """Run the checks of a deployment and of pages: a worker has no static files."""
    others = {str(message) for message in run_without_pages()}
    bad = [
        _finding(message)
        for message in checks.run_checks(include_deployment_checks=True)
        if not message.is_silenced() and str(message) not in others
    ]
    yield from bad or [ok(_("the checks of a deployment find nothing"))]


@probe("settings")
def code_has_what_orders_need() -> Iterable[Finding]:
    """Look for workflow versions, steps and agents that orders in flight need and no code has."""
    yield from (_finding(message) for message in [*find_missing(), *find_edited()])


def _finding(message: checks.CheckMessage) -> Finding:
    level = Level.ERROR if message.level >= checks.ERROR else Level.WARNING
    return Finding(
        level,
        _("%(id)s: %(text)s", id=message.id or "", text=str(message.msg).rstrip(".")),
        _("What the system checks refuse does not work, or not for long."),
        str(message.hint or ""),
    )
