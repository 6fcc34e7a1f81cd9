"""Wake-ups that follow a change: sent once it is committed, and by nobody who makes one.

Every verb that leaves somebody something to do is declared with ``waking``, so its callers
have nothing to remember.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from workers.wire import dispatch

P = ParamSpec("P")
T = TypeVar("T")


def _send_on_commit(send: Callable[[], None]) -> None:
    transaction.on_commit(send, robust=True)


#: When a hint leaves; ``workers.testing`` puts its own rule here.
on_commit = _send_on_commit


def wake_scheduler() -> None:
    """Ask a scheduler to look once this transaction is committed; at once without one."""
    on_commit(dispatch.nudge_later)


def wake_agents(queue: str) -> None:
    """Ask the agents of a queue to take what is due once this transaction is committed."""
    on_commit(partial(dispatch.wake_agents_later, queue))


def wake_relay() -> None:
    """Ask a relay to tell submitters and operators once this transaction is committed."""
    on_commit(dispatch.report_later)


def waking(wake: Callable[[], None], verb: Callable[P, T]) -> Callable[P, T]:
    """Return a verb that wakes somebody, unless it returns ``False``: nothing was changed."""

    @wraps(verb)
    def woken(*args: P.args, **kwargs: P.kwargs) -> T:
        result = verb(*args, **kwargs)
        if result is not False:
            wake()
        return result

    return woken
