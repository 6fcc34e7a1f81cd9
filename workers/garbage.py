"""Putting off Python's search for cyclic garbage while many rows are in memory."""

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
