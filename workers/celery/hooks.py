"""What happens when a worker or Beat starts.

What needs the models is imported where it happens: Django is set up by then.
"""

from typing import Any

import click
from celery import platforms
from celery.signals import task_failure
from celery.utils.nodenames import default_nodename, nodesplit

from workers.celery import pools


def refuse_to_start(**kwargs: object) -> None:
    """End a worker or Beat that cannot work, with the reasons.

    This signal is the last before Beat reads its schedule from the database.
    Celery runs Django's checks then, too, and ignores what they find.
    """
    from workers.celery import starting

    if problems := list(starting.problems(waits=not _is_beat())):
        raise SystemExit("\n".join(problems))


def _is_beat() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and context.info_name == "beat"


def look_at_broker(sender: Any, **kwargs: object) -> None:
    """End a Beat that the broker does not let in, with the reason."""
    from workers.celery.starting import refuse_broker

    refuse_broker(sender.app)


def drop_future_runs(sender: Any, **kwargs: object) -> None:
    """Have Beat not wait for a date that a clock which was set back since has given it."""
    from django_celery_beat.schedulers import DatabaseScheduler

    from workers.supervisor.beat_schedule import drop_future_runs

    if isinstance(sender.scheduler, DatabaseScheduler):
        drop_future_runs(sender.scheduler.schedule.values())


def end_at_once(sender: Any, **kwargs: object) -> None:
    """Have SIGTERM and Ctrl-C end Beat wherever it is, and its connection only after that.

    Celery's own handler closes the connection itself, in the middle of a publication: it then
    waits for ever for a lock that this publication holds.  Beat keeps its schedule as it ends.
    """

    def end(_signum: int, _frame: object) -> None:
        raise SystemExit

    platforms.signals.update(SIGTERM=end, SIGINT=end)


def name_run(instance: Any, **kwargs: object) -> None:
    """Give this run of a worker a name, and with it the worker, unless ``-n`` has."""
    from workers.runtime.worker_identity import begin_run, node_name

    # Before its pool starts: the children inherit it.
    begin_run()
    if instance.hostname == default_nodename(""):
        instance.hostname = node_name(nodesplit(instance.hostname)[1])


def add_steps(instance: Any, **kwargs: object) -> None:
    """Have a worker notice a dead Beat and dead children, and end without using up attempts."""
    from workers.agent.dead_children import on_failure
    from workers.agent.graceful_shutdown import OrderlyEnd
    from workers.supervisor.beat_watchdog import OverdueTimer

    instance.app.steps["worker"].update({OverdueTimer, OrderlyEnd})
    task_failure.connect(on_failure, weak=False)


def look_at_pool(instance: Any, **kwargs: object) -> None:
    """Say what a pool other than prefork cannot do; by now logging is set up."""
    pools.warn_of_pool(instance.pool_cls)


def ask_no_neighbours(instance: Any, **kwargs: object) -> None:
    """Start a second sooner where no worker answers: without remote control nobody would.

    Celery asks the other workers which tasks were revoked, and waits for their answers.
    """
    if not instance.app.conf.worker_enable_remote_control:
        instance.options["without_mingle"] = True


def look_at_broker_and_queues(instance: Any, **kwargs: object) -> None:
    """End a worker that the broker does not let in, or whose queues are of another kind."""
    from workers.celery.starting import refuse_broker

    refuse_broker(instance.app, list(instance.app.amqp.queues.consume_from))
