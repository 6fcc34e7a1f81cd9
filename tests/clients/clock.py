"""The time that a call has left."""

import time
from collections.abc import Callable


def seconds(left: float) -> Callable[[], float]:
    """Return a countdown from now."""
    end = time.monotonic() + left
    return lambda: end - time.monotonic()
