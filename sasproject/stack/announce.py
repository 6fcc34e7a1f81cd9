"""Prints a line once a Celery worker receives messages, whatever its log level.

The stack's workers import it through `--include`; the stack waits for the line.
"""

import os
from typing import Any

from celery.signals import worker_ready

READY_LINE = "stack: worker ready"


@worker_ready.connect(weak=False)
def announce(**_: Any) -> None:
    # Celery redirects prints to the log, whose level may suppress them.
    os.write(1, f"{READY_LINE}\n".encode())
