"""Work that waits: how much, for how long, and whether it goes on."""

from collections.abc import Iterable
from datetime import datetime

from workers.conf import sas
from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.ops.doctor.finding import Finding, error, info, ok, warning
from workers.ops.doctor.registry import probe
from workers.ops.invariants import SLACK_SECONDS, TELLING_SECONDS
from workers.store.db import dialect
from workers.store.flow import due_steps

#: A step that could be claimed for longer than this waits for room, a breaker or a hold.
LONG_SECONDS = 300


@probe("backlog")
def pending_steps_are_claimed() -> Iterable[Finding]:
    """Count the steps that may be claimed, by agent, with the oldest."""
    moment, params = dialect.clock(None)
    rows = dialect.fetch(
        "SELECT agent, count(*), min(not_before) FROM workers_live WHERE state = 'pending'"
        f" AND not_before <= {moment} GROUP BY agent ORDER BY agent",
        params,
    )
    now = dialect.read_clock()
    waiting = [(agent, count, _age(oldest, now)) for agent, count, oldest in rows]
    for agent, _total, seconds in waiting:
        if seconds > LONG_SECONDS:
            stopped, oldest = _due(agent)
            if _age(oldest, now) <= LONG_SECONDS:
                # Other probes report what is paused, in error or held.
                continue
            yield warning(
                ngettext(
                    "%(n)d step of %(agent)s has waited to be claimed for %(s).0f s",
                    "%(n)d steps of %(agent)s wait to be claimed, the oldest for %(s).0f s",
                    stopped,
                    agent=agent,
                    s=_age(oldest, now),
                ),
                _(
                    "They wait for room in its window, for its breaker, for a hold on it, or for a "
                    "scheduler."
                ),
                _(
                    "Check what the doctor says of agents, duties and queues, then its window"
                    " and the number of its workers."
                ),
            )
    total = sum(count for _, count, _ in waiting)
    yield ok(ngettext("%(n)d step waits to be claimed", "%(n)d steps wait to be claimed", total))


def _due(agent: str) -> tuple[int, object]:
    """Return how many steps of an agent may be claimed, and since when the oldest may."""
    moment, params = dialect.clock(None)
    rows = dialect.fetch(
        f"SELECT count(*), min(l.not_before) FROM {due_steps.steps('%s', moment)}", [agent, *params]
    )
    return rows[0][0], rows[0][1]


@probe("backlog")
def started_steps_end() -> Iterable[Finding]:
    """Count the expired claims that no Supervisor has taken back."""
    moment, params = dialect.clock(None)
    slack = dialect.later("s.complete_by", str(sas.expiry_grace_seconds + SLACK_SECONDS))
    count, oldest = dialect.fetch(
        "SELECT count(*), min(s.complete_by) FROM workers_live l"
        " JOIN workers_step s ON s.id = l.step_id WHERE l.look_at IS NOT NULL"
        f" AND s.reply IS NULL AND {slack} < {moment}",
        params,
    )[0]
    if count:
        yield error(
            ngettext(
                "%(n)d started step has been past its deadline for %(s).0f s",
                "%(n)d started steps are past their deadlines, the oldest for %(s).0f s",
                count,
                s=_age(oldest, dialect.read_clock()),
            ),
            _("No Supervisor resets them: their orders stand still."),
            _("Start Celery Beat and a worker with -Q sas.supervisor."),
        )


@probe("backlog")
def filed_replies_are_settled() -> Iterable[Finding]:
    """Count the replies on rows that no Scheduler has settled."""
    moment, params = dialect.clock(None)
    count = dialect.fetch(
        "SELECT count(*) FROM workers_step WHERE reply IS NOT NULL AND state = 'processing'"
        f" AND {dialect.later('complete_by', str(SLACK_SECONDS))} < {moment}",
        params,
    )[0][0]
    if count:
        yield error(
            ngettext("%(n)d reply is not settled", "%(n)d replies are not settled", count),
            _("The calls were made, but their orders do not continue."),
            _("Start a worker with -Q sas.scheduler."),
        )


@probe("backlog")
def processes_by_state() -> Iterable[Finding]:
    """Count the processes that are not over, and the paused ones."""
    counts = dialect.fetch(
        "SELECT state, count(*) FROM workers_process WHERE state IN"
        " ('pending', 'processing', 'compensating') GROUP BY state ORDER BY state"
    )
    counts += dialect.fetch(
        "SELECT state, count(*) FROM workers_process WHERE state = 'error' GROUP BY state"
    )
    by_state = {state: int(count) for state, count in counts}
    if errors := by_state.get("error"):
        yield warning(
            ngettext("%(n)d process is in error", "%(n)d processes are in error", errors),
            _("Each waits for an operator."),
            _("See the incidents in the admin, or run `manage.py sas incidents`."),
        )
    others = ", ".join(f"{count} {state}" for state, count in by_state.items() if state != "error")
    yield ok(_("processes under way: %(states)s", states=others or _("none")))
    paused = dialect.fetch(
        "SELECT count(*) FROM workers_process WHERE state IN"
        " ('pending', 'processing', 'compensating') AND paused_at IS NOT NULL"
    )[0][0]
    if paused:
        yield info(
            ngettext("%(n)d process is paused", "%(n)d processes are paused", paused),
            _("No step of a paused process is claimed."),
            _("Run `manage.py sas process resume` when it is safe to continue."),
        )


@probe("submitters")
def are_told() -> Iterable[Finding]:
    """Count the reply queues and webhooks that were given up, or are due for long."""
    moment, params = dialect.clock(None)
    given_up = dialect.fetch("SELECT count(*) FROM workers_sink WHERE state = 'undeliverable'")[0][
        0
    ]
    due = dialect.fetch(
        "SELECT count(*) FROM workers_sink s WHERE s.state = 'open' AND s.last > s.cursor"
        f" AND {dialect.later('s.next_try_at', str(TELLING_SECONDS))} < {moment}",
        params,
    )[0][0]
    if given_up:
        yield warning(
            ngettext(
                "%(n)d reply queue or webhook was given up",
                "%(n)d reply queues and webhooks were given up",
                given_up,
            ),
            _("Their owners get no status of their orders; the orders are not affected."),
            _("Run `manage.py sas sinks list`, have them fixed, run `manage.py sas sinks retry`."),
        )
    if due:
        yield warning(
            ngettext(
                "%(n)d reply queue or webhook is due, and no worker sends to it",
                "%(n)d reply queues and webhooks are due, and no worker sends to them",
                due,
            ),
            _("Status messages are late, perhaps because of one owner's slow endpoints."),
            _("Start a worker with -Q sas.reports, or an additional one."),
        )
    if not given_up and not due:
        yield ok(_("every submitter has been notified, or will be within a minute"))


def _age(since: object, now: datetime) -> float:
    at = dialect.instant(since)
    return 0.0 if at is None else (now - at).total_seconds()
