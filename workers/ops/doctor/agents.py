"""Agents: flow rows, breakers, windows and holds that stop claims."""

from collections.abc import Iterable

from django.db.models import Q

from workers.conf import sas
from workers.definitions import registry
from workers.definitions.effects import Effect
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_names
from workers.models import Flow, Hold
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import probe
from workers.rules.masks import UNKNOWN
from workers.store.db import dialect
from workers.store.operate import lost_commits


@probe("agents")
def have_flow_rows() -> Iterable[Finding]:
    """Look for agents without a row to count their claims on."""
    names = set(Flow.objects.values_list("agent", flat=True))
    missing = sorted({agent.name for agent in registry.agents()} - names)
    if missing:
        yield error(
            _("agents without a flow row: %(names)s", names=say_names(missing)),
            _("Nothing is claimed for them."),
            _("Run `manage.py migrate`, which makes it."),
        )


@probe("agents")
def may_be_claimed() -> Iterable[Finding]:
    """Look for open breakers, windows of 0 and holds."""
    bad = [_stop_finding(flow) for flow in Flow.objects.filter(_STOPPED).order_by("agent")]
    for hold in Hold.objects.filter(ended_at=None):
        what = f"{hold.kind} {hold.name}".strip()
        # Nobody meant that one: every order stands until somebody has looked.
        level = error if hold.began_by == lost_commits.ACTOR else warning
        bad.append(
            level(
                _(
                    "%(what)s is held, by %(began_by)s since %(began_at)s UTC",
                    what=what,
                    began_by=hold.began_by,
                    began_at=f"{hold.began_at:%Y-%m-%d %H:%M}",
                ),
                _(
                    "Nothing is claimed for it. Reason given: %(reason)s",
                    reason=UNKNOWN.text(hold.reason),
                ),
                _("`manage.py sas flow lift %(what)s --reason TEXT` when it may go on.", what=what),
            )
        )
    yield from bad or [ok(_("no breaker is open and nothing is held"))]


_STOPPED = (
    Q(forced="open") | Q(forced="closed") | Q(window=0) | Q(open_until__isnull=False, forced=None)
)


def _stop_finding(flow: Flow) -> Finding:
    if flow.forced == "closed":
        return warning(
            _("the breaker of %(agent)s is forced closed", agent=flow.agent),
            _("Calls still go to the unavailable service, and each waits for its timeout."),
            _("`manage.py sas flow set %(agent)s --breaker auto --reason TEXT`.", agent=flow.agent),
        )
    if flow.forced == "open":
        return warning(
            _("the breaker of %(agent)s is forced open", agent=flow.agent),
            _("Nothing is claimed for it."),
            _(
                "`manage.py sas flow set %(agent)s --breaker auto --reason TEXT` when it may"
                " go on.",
                agent=flow.agent,
            ),
        )
    if flow.window == 0:
        return warning(
            _("the window of %(agent)s is 0", agent=flow.agent),
            _("Nothing is claimed for it."),
            _(
                "`manage.py sas flow set %(agent)s --window N --reason TEXT` when it may go on.",
                agent=flow.agent,
            ),
        )
    assert flow.opened_at is not None
    minutes = (dialect.read_clock() - flow.opened_at).total_seconds() / 60
    return warning(
        _(
            "the breaker of %(agent)s opened %(minutes).0f min ago",
            agent=flow.agent,
            minutes=minutes,
        ),
        _("Its service does not answer. Steps wait, and none fails."),
        _("Restore the service; its first answer closes the breaker."),
    )


@probe("agents")
def end_before_a_stopped_worker() -> Iterable[Finding]:
    """Compare the time a stopped worker waits with the timeouts of unsafe agents."""
    unsafe = {agent.name for agent in registry.agents() if agent.effect == Effect.UNSAFE}
    cut_off = sorted(
        {
            f"{spec.name} ({spec.timeout_seconds or sas.step_timeout_seconds:g} s)"
            for workflow in registry.workflows()
            for spec in workflow.steps
            if spec.agent in unsafe
            and (spec.timeout_seconds or sas.step_timeout_seconds) > sas.shutdown_seconds
        }
    )
    if cut_off:
        yield info(
            _(
                "calls of unsafe agents may take longer than a stopped worker waits: %(names)s",
                names=say_names(cut_off),
            ),
            _(
                "A call still running after SAS_SHUTDOWN_SECONDS (%(shutdown_seconds)g) is cut"
                " off with an unknown outcome: an operator decides, or it is skipped. Other"
                " calls are released.",
                shutdown_seconds=sas.shutdown_seconds,
            ),
            _(
                "Raise SAS_SHUTDOWN_SECONDS, and the time the process manager gives, if that "
                "matters."
            ),
        )
