"""Who is acting: the name that people read in ``locked_by`` and in the journal."""

import os
import socket
from uuid import uuid4

#: Holds the run of this worker: children inherit it, whether they are forked or spawned.
_VARIABLE = "CELERY_WORKER_RUN"


def begin_run() -> str:
    """Name this run of a worker, before its pool starts; return the name.

    Process ids come again and containers share host names; a run's name is never used twice,
    so a claim can be told to belong to this very worker's children and nobody else's.
    """
    os.environ[_VARIABLE] = uuid4().hex[:8]
    return os.environ[_VARIABLE]


def run() -> str:
    """Return the name of this worker's run; outside a worker, of a run that begins now."""
    return os.environ.get(_VARIABLE) or begin_run()


def node_name(host: str) -> str:
    """Return what a worker is called among Celery's that was given no name.

    Celery's own default is the same for every worker of a host, and RabbitMQ then refuses the
    second one its control queue.  The end is that of ``locked_by``, so that people find one by
    the other.
    """
    return f"celery-{run()}@{host}"


def mark_of(run_name: str) -> str:
    """Return how the names of all processes of a run end, and of no other."""
    return f"/{run_name}"


def me(role: str) -> str:
    """Return ``role@host:pid`` of this process; in a worker ``role@host:pid/run``."""
    inherited = os.environ.get(_VARIABLE, "")
    name = f"{role}@{socket.gethostname()}:{os.getpid()}"
    # The end is what tells runs apart, so it is never what is cut off.
    return f"{name[:180]}{mark_of(inherited)}" if inherited else name[:200]
