"""The name of the acting process, as shown in ``locked_by`` and in the journal."""

import os
import socket
from uuid import uuid4

#: Holds this worker's run; children inherit it, whether forked or spawned.
_VARIABLE = "CELERY_WORKER_RUN"


def begin_run() -> str:
    """Set a new name for this run of a worker, before its pool starts; return it.

    Process ids are reused and containers share host names; a run's name is never used twice, so a
    claim can be attributed to exactly this worker's children.
    """
    os.environ[_VARIABLE] = uuid4().hex[:8]
    return os.environ[_VARIABLE]


def run() -> str:
    """Return the name of this worker's run; outside a worker, of a run that begins now."""
    return os.environ.get(_VARIABLE) or begin_run()


def node_name(host: str) -> str:
    """Return the Celery node name of a worker without a given name.

    Celery's default is the same for every worker of a host, and RabbitMQ then refuses the control
    queue of the second.  It contains the run, as ``locked_by`` does, so that people find one by the
    other.
    """
    return f"celery-{run()}@{host}"


def mark_of(run_name: str) -> str:
    """Return the suffix of the names of all processes of a run, and of no others."""
    return f"/{run_name}"


def me(role: str) -> str:
    """Return ``role@host:pid`` of this process; in a worker ``role@host:pid/run``."""
    inherited = os.environ.get(_VARIABLE, "")
    name = f"{role}@{socket.gethostname()}:{os.getpid()}"
    # Never cut off the end, which distinguishes runs.
    return f"{name[:180]}{mark_of(inherited)}" if inherited else name[:200]
