"""What everybody gets: the same steps, and two processes that run them.

What else can run calls side by side in a process has 20.  Ours is started
by the commands of *Run it in production*.
Beside slow services everybody has room for the same number of calls.
"""

import os

PROCESSES = 2
#: Calls that an agent process of ours makes side by side, as shipped.
SIDE_BY_SIDE = 20
#: How many agent processes ours has, where a measurement says; others have the same room.
CHILDREN = "BENCH_CHILDREN"
FORKS = int(os.environ.get(CHILDREN, PROCESSES))
THREADS = SIDE_BY_SIDE * FORKS // PROCESSES
STEPS = 4
#: Children of a list that are under way at once.
AT_ONCE = 100
#: Time for everything to be done before a run counts as stuck.
LIMIT_SECONDS = 300

TEXT = (
    f"{STEPS} steps one after another; ours by the commands of *Run it in production* with the"
    " settings that ship;"
    f" the others with {PROCESSES} processes for steps and {THREADS} threads or coroutines in each"
    " where calls can run side by side"
)
