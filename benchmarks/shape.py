"""What everybody gets: the same steps, and two processes that run them.

What else can run calls side by side in a process has 20.  Ours is started by README's commands.
"""

PROCESSES = 2
THREADS = 20
STEPS = 4
#: Time for everything to be done before a run counts as stuck.
LIMIT_SECONDS = 300

TEXT = (
    f"{STEPS} steps one after another; ours by README's commands with the settings that ship;"
    f" the others with {PROCESSES} processes for steps and {THREADS} threads or coroutines in each"
    " where calls can run side by side"
)
