"""Objects that belong to one process: a fork copies them, but neither their threads nor a
right to use their sockets.
"""

import os
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import TypeVar

T = TypeVar("T")


def per_process(make: Callable[..., T]) -> Callable[..., T]:
    """Cache a function's result per process, for each set of arguments.

    A forked process creates its own at its first call, and never uses its parent's.
    """

    @cache
    def made(pid: int, *args: Hashable) -> T:
        return make(*args)

    @wraps(make)
    def of_this_process(*args: Hashable) -> T:
        return made(os.getpid(), *args)

    return of_this_process
