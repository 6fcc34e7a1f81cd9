"""Read by Python at the start of a process whose clock is wrong: mends its `time.sleep`.

Python sleeps until an instant of the monotonic clock.  libfaketime, told to leave that clock
alone, moves the instant all the same, and every sleep raises `OSError`.
"""

import select
import time


def sleep(seconds: float) -> None:
    select.select([], [], [], seconds)


time.sleep = sleep
