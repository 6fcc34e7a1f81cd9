"""The workers, if they may be asked: their pools, and how many calls they can make at once."""

from collections.abc import Iterable
from typing import Any

from celery import current_app

from workers.definitions.sentences import say as _
from workers.definitions.sentences import say_counted as ngettext
from workers.ops.doctor.connecting import while_connected
from workers.ops.doctor.finding import Finding, info, ok, warning
from workers.ops.doctor.queues import state_of
from workers.ops.doctor.registry import Need, probe
from workers.wire.dispatch import SCHEDULER_QUEUE

ANSWER_SECONDS = 2.0


@probe("workers", needs=Need.NOTHING)
@while_connected
def answer(connection: Any) -> Iterable[Finding]:
    """Ask the workers for their pools and queues, if remote control is on."""
    if not current_app.conf.worker_enable_remote_control:
        yield info(
            _("workers are not queried: remote control is off"),
            _(
                "Remote control is off outside DEBUG, since anyone who can write to the broker"
                " could stop workers."
            ),
            _(
                "See the queues above: each has its consumers. Set CELERY_REMOTE_CONTROL=on to"
                " query the workers."
            ),
        )
        return
    inspect = current_app.control.inspect(timeout=ANSWER_SECONDS, connection=connection)
    stats: dict[str, Any] = inspect.stats() or {}
    if not stats:
        yield _silence_finding(connection)
        return
    served = inspect.active_queues() or {}
    yield from _pool_findings(stats)
    yield from _slot_findings(stats, served)


def _silence_finding(connection: Any) -> Finding:
    """Tell workers that do not answer, as outside DEBUG, from missing workers."""
    queue = state_of(connection, SCHEDULER_QUEUE)
    if queue is not None and queue.readers:
        return info(
            _("workers run and do not answer: their remote control is off, and here it is on"),
            _("They were started in another mode than this command, outside DEBUG."),
            _("Give this command their environment; or set CELERY_REMOTE_CONTROL=on for them."),
        )
    return warning(
        _("no worker answers"),
        _("Nothing is claimed, called or settled."),
        _("Start one: `celery -A PROJECT worker`, with the name of yours."),
    )


def _pool_findings(stats: dict[str, Any]) -> Iterable[Finding]:
    for name, facts in sorted(stats.items()):
        pool = str(facts.get("pool", {}).get("implementation", ""))
        if "prefork" not in pool:
            yield warning(
                _(
                    "%(name)s has the pool %(pool)s",
                    name=name,
                    pool=pool.rpartition(":")[0] or pool or _("unknown"),
                ),
                _("Nothing there stops a call that runs past its deadline."),
                _("Start it with the prefork pool: leave -P out."),
            )


def _slot_findings(stats: dict[str, Any], served: dict[str, Any]) -> Iterable[Finding]:
    slots = sum(
        int(facts.get("pool", {}).get("max-concurrency", 0))
        for name, facts in stats.items()
        if any(queue["name"].startswith("sas.agents") for queue in served.get(name, ()))
    )
    answering = ngettext("%(n)d worker answers", "%(n)d workers answer", len(stats))
    serving = ngettext("%(n)d process serves agents", "%(n)d processes serve agents", slots)
    yield ok(_("%(answering)s; %(serving)s", answering=answering, serving=serving))
