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


def mark_of(run: str) -> str:
    """Return how the names of all processes of a run end, and of no other."""
    return f"/{run}"


def me(role: str) -> str:
    """Return ``role@host:pid`` of this process; in a worker ``role@host:pid/run``."""
    run = os.environ.get(_VARIABLE, "")
    name = f"{role}@{socket.gethostname()}:{os.getpid()}"
    # The end is what tells runs apart, so it is never what is cut off.
    return f"{name[:180]}{mark_of(run)}" if run else name[:200]
