"""Objects that belong to one process: a fork copies them, but not their threads, and must not use
their sockets.
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
    def cached(pid: int, *args: Hashable) -> T:
        return make(*args)

    @wraps(make)
    def get(*args: Hashable) -> T:
        return cached(os.getpid(), *args)

    return get
