"""Record the death of a child process on the steps that it ran.

Celery reports it in the parent, whose event loop must not wait for a database.
"""

import logging
import os
import re
import threading
from typing import Any

from billiard.exceptions import WorkerLostError
from celery.worker import state
from django.db import connections

from workers.runtime.db_connections import apart_from_forks
from workers.runtime.worker_identity import mark_of, run
from workers.store.claims import release
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: Billiard's message: "Worker exited prematurely: signal 9 (SIGKILL) Job: 5."; Celery's, for an
#: agent that ends its own process: "Worker exited prematurely: exitcode 3.".
_HOW = re.compile(r"prematurely: (.+?)\.?(?: Job: .*)?$")
#: The process in ``worker_identity.me``: ``role@host:pid/run``.
_PID = re.compile(r":(\d+)/")


def on_failure(
    sender: Any = None, exception: Any = None, **kwargs: object
) -> threading.Thread | None:
    """Receive Celery's ``task_failure``; if a child died, return the thread that records it.

    Records nothing while this worker shuts down: it then ends its children itself, and releases
    their claims.
    """
    is_ours = getattr(sender, "name", None) == dispatch.TAKE
    is_ending: Any = state.should_terminate
    if not is_ours or not isinstance(exception, WorkerLostError) or is_ending:
        return None
    thread = threading.Thread(target=_note, args=(how(exception),), name="dead-child", daemon=True)
    thread.start()
    return thread


def how(exception: BaseException) -> str:
    """Return how a child ended: its signal or its exit code."""
    match = _HOW.search(str(exception))
    if match is None or (match[1] == "exitcode 0" and "Job:" in str(exception)):
        # Billiard also reports 0 if it reads about the message only after it has dropped the
        # child, because several died at once.
        return "nobody knows how"
    return match[1]


def _note(cause: str) -> None:
    with apart_from_forks():
        try:
            note(run(), cause)
        except Exception:
            # The claims still expire, but without this reason.
            log.warning("death_not_noted", exc_info=True)
        finally:
            # Keep none open: the pool may fork at any time, and a child must not inherit one.
            connections.close_all()


def note(run_name: str, cause: str) -> None:
    """Record the death of a worker's children, and log the claims that they held.

    A child holds more than the message over which it died, so the rows decide which.
    """
    for claim in release.note_death(mark_of(run_name), is_gone, cause):
        log.error("worker_died", extra={"how": cause, **claim})


def is_gone(locked_by: str) -> bool:
    """Say whether the process in a claim's ``locked_by`` no longer exists on this host."""
    match = _PID.search(locked_by)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It has another owner: the process id was reused.
        return True
    return False
