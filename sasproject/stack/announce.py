"""Lets a Celery worker say on its output that it takes messages, whatever its log level.

Workers of the stack import it through `--include`; the stack waits for the line.
"""

import os
from typing import Any

from celery.signals import worker_ready

READY_LINE = "stack: worker ready"


@worker_ready.connect(weak=False)
def announce(**_: Any) -> None:
    # Celery sends what is printed to the log, which may be set to say less.
    os.write(1, f"{READY_LINE}\n".encode())
