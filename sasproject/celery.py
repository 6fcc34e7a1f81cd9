"""The Celery app: `celery -A sasproject worker` and `celery -A sasproject beat`."""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import (
    beat_init,
    celeryd_after_setup,
    celeryd_init,
    import_modules,
    task_failure,
    worker_ready,
)
from celery.utils.nodenames import default_nodename, nodesplit

from sasproject import filesystem_transport, redis_transport

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasproject.settings")
filesystem_transport.install()
redis_transport.install()

app = Celery("sasproject", amqp="sasproject.queues:AMQP")
app.config_from_object("django.conf:settings", namespace="CELERY")
# Celery's Django fix-up would close the database connection around every task, whatever
# CONN_MAX_AGE says; that costs about 80 % of the throughput.  Ours look at theirs themselves.
app.conf["CELERY_DB_REUSE_MAX"] = 1_000_000
app.autodiscover_tasks()


@import_modules.connect
def _refuse_to_start(**kwargs: object) -> None:
    """End a worker or Beat that cannot work, with the reasons.

    This signal is the last before Beat reads its schedule from the database.
    Celery runs Django's checks then, too, and ignores what they find.
    """
    from sasproject import starting

    if found := list(starting.problems()):
        raise SystemExit("\n".join(found))


@beat_init.connect
def _look_at_broker(**kwargs: object) -> None:
    """End a Beat that the broker does not let in, with the reason."""
    from sasproject.starting import refuse_broker

    refuse_broker(app)


@beat_init.connect
def _drop_future_runs(sender: Any, **kwargs: object) -> None:
    """Have Beat not wait for a date that a clock which was set back since has given it."""
    from django_celery_beat.schedulers import DatabaseScheduler

    from workers.schedule import drop_future_runs

    if isinstance(sender.scheduler, DatabaseScheduler):
        drop_future_runs(sender.scheduler.schedule.values())


@celeryd_init.connect
def _name_run(instance: Any, **kwargs: object) -> None:
    """Give this run of a worker a name, and with it the worker, unless ``-n`` has."""
    from workers.identity import begin_run, node_name

    # Before its pool starts: the children inherit it.
    begin_run()
    if instance.hostname == default_nodename(""):
        instance.hostname = node_name(nodesplit(instance.hostname)[1])


@celeryd_init.connect
def _add_steps(**kwargs: object) -> None:
    """Have every worker notice a dead Beat and dead children, and end without using up attempts.

    Imported here: Django is set up by now.
    """
    from workers.dead_children import on_failure
    from workers.overdue import OverdueTimer
    from workers.shutdown import OrderlyEnd

    app.steps["worker"].update({OverdueTimer, OrderlyEnd})
    task_failure.connect(on_failure, weak=False)


@celeryd_after_setup.connect
def _look_at_pool(instance: Any, **kwargs: object) -> None:
    """Say what a pool other than prefork cannot do; by now logging is set up."""
    from sasproject.pools import warn_of_pool

    warn_of_pool(instance.pool_cls)


@celeryd_after_setup.connect
def _look_at_broker_and_queues(instance: Any, **kwargs: object) -> None:
    """End a worker that the broker does not let in, or whose queues are of another kind."""
    from sasproject.starting import refuse_broker

    refuse_broker(instance.app, list(instance.app.amqp.queues.consume_from))


@worker_ready.connect
def _say_ready(sender: Any, **kwargs: object) -> None:
    """Say so once at SAS_LOG_LEVEL: Celery's own level, by default, keeps all that is well."""
    queues = sorted(queue.name for queue in sender.task_consumer.queues)
    logging.getLogger("sasproject.ready").info(
        "worker_ready", extra={"worker": sender.hostname, "queues": queues}
    )
