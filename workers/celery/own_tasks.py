"""The base of the engine's own tasks."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery import Task
from celery.exceptions import Reject
from django.db import InterfaceError, OperationalError

from workers.exceptions import BrokerRefused, first_line
from workers.runtime import db_connections
from workers.wire import neighbours

log = logging.getLogger(__name__)


class OwnTask(Task):
    """Runs only for this installation's messages; passes on those of others unprocessed."""

    abstract = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        headers = vars(self.request)
        if (sender := neighbours.foreign_sender(headers)) is None:
            return self.run(*args, **kwargs)
        hard, soft = headers.get("timelimit") or (None, None)
        try:
            neighbours.pass_on(
                sender,
                self.name,
                args,
                headers["delivery_info"]["routing_key"],
                hops=int(headers.get(neighbours.HOPS) or 0),
                limits={"time_limit": hard, "soft_time_limit": soft},
            )
        except BrokerRefused as refusal:
            raise Reject(str(refusal), requeue=True) from refusal
        return None


#: Options of the engine's own tasks, whatever the project's defaults: acknowledged once done, in
#: JSON, and not redelivered when a child dies, because a call that kills its process would cause
#: that forever.  The row brings the claim back, and counts the failure.
HELD: dict[str, Any] = {
    "base": OwnTask,
    "acks_late": True,
    "ignore_result": True,
    "reject_on_worker_lost": False,
    "serializer": "json",
}


@contextmanager
def left_to_the_next() -> Iterator[None]:
    """Skip a look if the database is unavailable: the timers trigger the next one."""
    try:
        with db_connections.kept():
            yield
    except (OperationalError, InterfaceError) as error:
        log.warning("database_away", extra={"reason": first_line(error)})
