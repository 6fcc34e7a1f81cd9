"""Hooks for the start of a worker or Beat.

Modules that need the models are imported inside the hooks: Django is set up by then.
"""

import logging
from typing import Any, Literal

import click
from celery import platforms
from celery.signals import before_task_publish, task_failure, worker_process_init
from celery.utils.log import ColorFormatter
from celery.utils.nodenames import default_nodename, nodesplit
from django.db import DEFAULT_DB_ALIAS
from django.db.backends.signals import connection_created

from workers.celery import pools
from workers.logs import FieldsFormatter

log = logging.getLogger(__name__)


def refuse_worker(**kwargs: object) -> None:
    """End a worker that cannot work, with the reasons.

    A test's workers, in threads, do not send this signal: the test decides what they have.
    """
    _refuse("worker")


def refuse_beat(**kwargs: object) -> None:
    """End a Beat that cannot work, with the reasons.

    This signal is the last before Beat reads its schedule from the database; others send it, too.
    """
    if _is_beat():
        _refuse("beat")


def _refuse(role: Literal["worker", "beat"]) -> None:
    from workers.celery import starting

    if problems := list(starting.problems(role)):
        raise SystemExit("\n".join(problems))


def _is_beat() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.info_name == "beat"


def look_at_broker(sender: Any, instance: Any, **kwargs: object) -> None:
    """End a Beat or worker whose login the broker refuses, or whose queues are declared otherwise.

    Beat has no queues.
    """
    from workers.celery.starting import refuse_broker

    app = (instance or sender).app
    refuse_broker(app, list(app.amqp.queues.consume_from) if instance else ())


def say_whose(sender: Any, **kwargs: object) -> None:
    """Mark Beat's messages with this installation's id, as the engine marks its own."""
    from workers.wire.installation import HEADER, own_id

    def add(headers: dict[str, Any], sender: str = "", **kwargs: object) -> None:
        if sender.startswith("workers.") and HEADER not in headers and (own := own_id()):
            headers[HEADER] = own

    before_task_publish.connect(add, weak=False)


def drop_future_runs(sender: Any, **kwargs: object) -> None:
    """Drop Beat's dates in the future, left by a clock that was set back since."""
    from django_celery_beat.schedulers import DatabaseScheduler

    from workers.supervisor.beat_schedule import drop_future_runs

    if isinstance(sender.scheduler, DatabaseScheduler):
        drop_future_runs(sender.scheduler.schedule.values())


def end_at_once(sender: Any, **kwargs: object) -> None:
    """Have SIGTERM and Ctrl-C end Beat at once, and close its connection only after that.

    Celery's own handler closes the connection itself, in the middle of a publication: it then
    waits for ever for a lock that the publication holds.  Beat saves its schedule as it ends.
    """

    def end(_signum: int, _frame: object) -> None:
        raise SystemExit

    platforms.signals.update(SIGTERM=end, SIGINT=end)


def mark_alive(instance: Any, **kwargs: object) -> None:
    """Have a worker or Beat mark the file that its probe reads, if one is set."""
    from workers import alive, logs

    alive.keep("beat" if instance is None else "worker", logs.is_stuck)


def name_run(instance: Any, **kwargs: object) -> None:
    """Name this run of a worker, and the worker after it unless ``-n`` does."""
    from workers.runtime.worker_identity import begin_run, node_name

    # Before its pool starts: the children inherit it.
    begin_run()
    if instance.hostname == default_nodename(""):
        instance.hostname = node_name(nodesplit(instance.hostname)[1])


def add_steps(instance: Any, **kwargs: object) -> None:
    """Have a worker notice a dead Beat and dead children, and stop without using up attempts."""
    from workers.agent.dead_children import on_failure
    from workers.agent.graceful_shutdown import OrderlyEnd
    from workers.agent.presence import Presence
    from workers.runtime.gc_control import leave_what_is_there
    from workers.supervisor.beat_watchdog import OverdueTimer

    instance.app.steps["worker"].update({OverdueTimer, OrderlyEnd, Presence})
    task_failure.connect(on_failure, weak=False)
    # Its children inherit it.
    worker_process_init.connect(leave_what_is_there)
    # Celery collects garbage before each fork.
    leave_what_is_there()
    worker_process_init.connect(watch_commits)


def keep_connections(instance: Any, **kwargs: object) -> None:
    """Have the engine's tasks, and only those, keep their database connection."""
    from workers.celery import django_fixup

    django_fixup.replace_in(instance.app)


def look_at_pool(instance: Any, **kwargs: object) -> None:
    """Warn what a pool other than prefork cannot do; logging is set up by now."""
    pools.warn_of_pool(instance.pool_cls)


def outlive_want_of_memory(instance: Any, **kwargs: object) -> None:
    """Have a worker survive any task that raises MemoryError, including the project's own."""
    from workers.celery import requests

    requests.mend(instance.app.tasks)


def show_fields(logger: logging.Logger, **kwargs: object) -> None:
    """Have Celery's log show the fields of the engine's lines.

    A handler of the project's own keeps its formatter.
    """
    for handler in logger.handlers:
        if isinstance(handler.formatter, ColorFormatter):
            handler.setFormatter(FieldsFormatter(handler.formatter))


def watch_commits(**kwargs: object) -> None:
    """Have a child of the pool look for lost commits whenever it connects to the database.

    After a failover every process reconnects, and claims before the next sweep.
    """
    connection_created.connect(_look_for_lost_commits, weak=False)


def _look_for_lost_commits(connection: Any, **kwargs: object) -> None:
    from workers.store.operate import lost_commits

    if connection.alias != DEFAULT_DB_ALIAS:
        return
    try:
        lost_commits.look()
    except Exception:
        # The sweep looks, too, and reports its error.
        log.warning("commits_unwatched", exc_info=True)


def tell_no_neighbours(sender: Any, **kwargs: object) -> None:
    """Switch off messages between workers if remote control is off: then none listens.

    At the start Celery asks the other workers for revoked tasks, which takes a second.  Then it
    sends them a heartbeat every 2 s and waits for the broker's confirmation: during a broker's
    alarm the worker would take no message, and not react to SIGTERM.
    """
    if not sender.app.conf.worker_enable_remote_control:
        # Before its steps are created.
        for name in ("without_mingle", "without_gossip", "without_heartbeat"):
            sender.options[name] = True


def name_neighbours(instance: Any, **kwargs: object) -> None:
    """Log at a worker's start which other installations use this broker."""
    from workers.exceptions import in_a_line
    from workers.wire import installation

    try:
        others = installation.exchange_now()
    except Exception as error:  # noqa: BLE001 (every transport has its own)
        log.info("neighbours_unknown", extra={"reason": in_a_line(error, 200)})
        return
    for card in others:
        log.error(
            "neighbour",
            extra={
                "installation": card.installation,
                "database": card.database,
                "host": card.host,
                "means": "Another installation uses this broker. Its messages come here, and ours"
                " go there; each is put back for its owner.",
                "remedy": "Give one of the two a virtual host, or with Redis a database number, of"
                " its own in BROKER_URL.",
            },
        )


def give_calls_time(instance: Any, **kwargs: object) -> None:
    """Have SIGQUIT, too, give calls time to end in a worker that serves one of the engine's queues.

    A time that the project has set stays.
    """
    from workers.celery.queues import ENGINE_QUEUES, agent_queues
    from workers.conf import sas

    app = instance.app
    is_ours = not {*ENGINE_QUEUES, *agent_queues()}.isdisjoint(app.amqp.queues.consume_from)
    if is_ours and not app.conf.worker_soft_shutdown_timeout:
        app.conf.worker_soft_shutdown_timeout = sas.shutdown_seconds
