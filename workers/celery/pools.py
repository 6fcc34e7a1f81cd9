"""Warn at a worker's start what its pool cannot do."""

import logging
from typing import Any

from celery.concurrency.prefork import TaskPool

log = logging.getLogger(__name__)


def warn_of_pool(pool_cls: type[Any]) -> bool:
    """Log a warning when calls run past complete-by cannot be stopped in this pool.

    Returns whether they can.  The worker goes on: the guard around each call still suppresses
    late replies.
    """
    if issubclass(pool_cls, TaskPool):
        return True
    log.warning(
        "pool_without_soft_limit",
        extra={
            "pool": pool_cls.__module__.rpartition(".")[2],
            "means": "A call that runs past its deadline stays silent, but nothing ends it: it"
            " keeps its slot until it returns. A shutdown waits for it.",
            "remedy": "Start the worker with the prefork pool: leave -P out, or give -P prefork.",
        },
    )
    return False
