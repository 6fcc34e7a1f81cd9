"""What everybody gets: the same processes, threads and messages ahead.

Four steps that do nothing, two processes that run them.  The processes of Celery's prefork
pool take one message at a time; what else can run calls side by side in a process has 20.
"""

PROCESSES = 2
THREADS = 20
#: Messages ahead for each process of a Celery worker; ours is shipped so.
PREFETCH = 1
STEPS = 4
#: What a slow call takes, and what nobody can surpass with it.
SLOW_SECONDS = 0.05
IDEAL_PER_SECOND = PROCESSES * THREADS / SLOW_SECONDS / STEPS
#: Time for everything to be done before a run counts as stuck.
LIMIT_SECONDS = 300

TEXT = (
    f"{STEPS} steps one after another; {PROCESSES} processes for steps; "
    f"{THREADS} threads or coroutines in each where calls can run side by side; "
    f"prefetch {PREFETCH} per process of a Celery worker; the queue filled first, then drained"
)
