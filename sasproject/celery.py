"""The Celery app: `celery -A sasproject worker` and `celery -A sasproject beat`."""

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, celeryd_init, import_modules, worker_ready

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

    if found := [*starting.problems(), *starting.problems_of_broker(app)]:
        raise SystemExit("\n".join(found))


@celeryd_init.connect
def _add_steps(**kwargs: object) -> None:
    """Have every worker notice a dead Beat, and end without using up attempts.

    Imported here: Django is set up by now.
    """
    from workers.overdue import OverdueTimer
    from workers.shutdown import OrderlyEnd

    app.steps["worker"].update({OverdueTimer, OrderlyEnd})


@celeryd_after_setup.connect
def _look_at_pool(instance: Any, **kwargs: object) -> None:
    """Say what a pool other than prefork cannot do; by now logging is set up."""
    from sasproject.pools import warn_of_pool

    warn_of_pool(instance.pool_cls)


@worker_ready.connect
def _say_ready(sender: Any, **kwargs: object) -> None:
    """Say so once at SAS_LOG_LEVEL: Celery's own level, by default, keeps all that is well."""
    queues = sorted(queue.name for queue in sender.task_consumer.queues)
    logging.getLogger("sasproject.ready").info(
        "worker_ready", extra={"worker": sender.hostname, "queues": queues}
    )
