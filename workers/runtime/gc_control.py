"""Sparing Python's search for cyclic garbage what it would look through in vain."""

import gc
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def collected_later(work: Callable[P, R]) -> Callable[P, R]:
    """Have a function collect no cyclic garbage; what it leaves is collected after it.

    The rows of a batch are thousands of objects that all live until it is over: each search
    among them finds nothing, and together they took a fifth of the time.  What is in no cycle
    is freed as ever.  Where collecting is off already, it stays off.
    """

    @wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if not gc.isenabled():
            return work(*args, **kwargs)
        gc.disable()
        try:
            return work(*args, **kwargs)
        finally:
            gc.enable()

    return run


def leave_what_is_there(**_: object) -> None:
    """Have no search look again at what this process has in memory by now.

    A worker's process begins with Django, Celery and the code, over a hundred thousand objects
    that stay as long as it lives.  A full search goes through all of them, at some moment while
    an order waits, and writes to pages that the process shares with its siblings.  What is in a
    cycle among them by now, and in no use later, is never freed.
    Source: the Python library, ``gc.freeze``.
    """
    gc.freeze()
