"""A child that dies over its calls: its parent notes on the steps that it did, and how.

Celery tells of it in the parent, whose event loop must not wait for a database.
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
from workers.store.claims import dead_workers
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: How billiard tells it: "Worker exited prematurely: signal 9 (SIGKILL) Job: 5.", and Celery of an
#: agent that ends its process itself: "Worker exited prematurely: exitcode 3.".
_HOW = re.compile(r"prematurely: (.+?)\.?(?: Job: .*)?$")
#: The process in ``worker_identity.me``: ``role@host:pid/run``.
_PID = re.compile(r":(\d+)/")


def on_failure(
    sender: Any = None, exception: Any = None, **kwargs: object
) -> threading.Thread | None:
    """Receive Celery's ``task_failure``; return the thread that notes a death, if it was one.

    Nothing is noted while this worker shuts down: it ends its children itself then, and releases
    their claims.
    """
    is_ours = getattr(sender, "name", None) in (dispatch.RUN_BUNDLE, dispatch.TAKE)
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
        # Billiard says 0, too, where it reads of the message only after it has forgotten the child:
        # several died at once.
        return "nobody knows how"
    return match[1]


def _note(how_it_died: str) -> None:
    with apart_from_forks():
        try:
            note(run(), how_it_died)
        except Exception:
            # The claims expire all the same, without this reason.
            log.warning("death_not_noted", exc_info=True)
        finally:
            # Not kept: the pool may fork at any time, and a child must not inherit a connection.
            connections.close_all()


def note(run_name: str, how_it_died: str) -> None:
    """Note the death of a worker's children that are gone, and log which claims they had.

    A child takes more than the message over which it died, so the rows say what it held.
    """
    for claim in dead_workers.note(mark_of(run_name), is_gone, how_it_died):
        log.error("worker_died", extra={"how": how_it_died, **claim})


def is_gone(locked_by: str) -> bool:
    """Say whether the process that a claim's ``locked_by`` names does not exist any more here."""
    match = _PID.search(locked_by)
    if match is None:
        return False
    try:
        os.kill(int(match[1]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It has another owner: the number was given again.
        return True
    return False
