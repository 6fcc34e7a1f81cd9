"""A child that dies over a bundle: its parent notes on the steps that it did, and how.

Celery tells of it in the parent, whose event loop must not wait for a database.
"""

import logging
import re
import threading
from typing import Any

from billiard.exceptions import WorkerLostError
from celery.worker import state
from django.db import connections

from workers.exceptions import MessageError
from workers.protocol.messages import Bundle
from workers.store.claims import dead_workers
from workers.wire import dispatch

log = logging.getLogger(__name__)

#: How billiard tells it: "Worker exited prematurely: signal 9 (SIGKILL) Job: 5.", and Celery of an
#: agent that ends its process itself: "Worker exited prematurely: exitcode 3.".
_HOW = re.compile(r"prematurely: (.+?)\.?(?: Job: .*)?$")


def on_failure(
    sender: Any = None, exception: Any = None, args: Any = (), **kwargs: object
) -> threading.Thread | None:
    """Receive Celery's ``task_failure``; return the thread that notes a death, if it was one.

    Nothing is noted while this worker shuts down: it ends its children itself then, and releases
    their claims.
    """
    is_ours = getattr(sender, "name", None) == dispatch.RUN_BUNDLE
    is_ending: Any = state.should_terminate
    if not is_ours or not isinstance(exception, WorkerLostError) or is_ending:
        return None
    thread = threading.Thread(
        target=_note, args=(args, how(exception)), name="dead-child", daemon=True
    )
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


def _note(args: Any, how_it_died: str) -> None:
    try:
        note(Bundle.from_wire(args[0]), how_it_died)
    except MessageError:
        # Nobody could have run it; run_bundle says so.
        return
    except Exception:
        # The claims expire all the same, without this reason.
        log.warning("death_not_noted", exc_info=True)
    finally:
        # Not kept: the pool may fork at any time, and a child must not inherit a connection.
        connections.close_all()


def note(bundle: Bundle, how_it_died: str) -> None:
    """Note the death of the child that ran a bundle, and log which claims it had."""
    noted = set(
        dead_workers.note(
            {request.step_id: request.claim_id for request in bundle.requests}, how_it_died
        )
    )
    for request in bundle.requests:
        if request.step_id in noted:
            log.error(
                "worker_died",
                extra={
                    "how": how_it_died,
                    "agent": bundle.agent,
                    "subject": request.subject,
                    "step": request.step,
                    "attempt": request.attempt,
                    "claim_id": str(request.claim_id),
                },
            )
