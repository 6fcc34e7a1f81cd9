"""Wake-ups after a change: sent on commit, so that callers need not send them.

Every verb that leaves work for another part is declared with ``waking``.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from django.db import transaction

from workers.wire import dispatch

P = ParamSpec("P")
T = TypeVar("T")


def _send_on_commit(send: Callable[[], None]) -> None:
    transaction.on_commit(send, robust=True)


#: Decides when a wake-up is sent; ``workers.testing`` replaces it.
on_commit = _send_on_commit


def wake_scheduler() -> None:
    """Wake a scheduler on commit of this transaction; at once without one."""
    on_commit(dispatch.wake_scheduler_later)


def wake_agents(queue: str) -> None:
    """Wake the agents of a queue on commit of this transaction."""

    def wake() -> None:
        dispatch.wake_agents_later(queue)

    # No partial: Django names a function that raises.
    on_commit(wake)


def wake_relay() -> None:
    """Wake a relay on commit of this transaction, to tell submitters and operators."""
    on_commit(dispatch.report_later)


def waking(wake: Callable[[], None], verb: Callable[P, T]) -> Callable[P, T]:
    """Return a verb that calls ``wake``, unless it returns ``False``: then nothing has changed."""

    @wraps(verb)
    def woken(*args: P.args, **kwargs: P.kwargs) -> T:
        result = verb(*args, **kwargs)
        if result is not False:
            wake()
        return result

    return woken
