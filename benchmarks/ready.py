"""Lets a Celery worker say in its log that it takes messages: `--include benchmarks.ready`."""

import os
from typing import Any

from celery.signals import worker_ready

LINE = "benchmark: worker ready"


@worker_ready.connect(weak=False)
def announce(**_: Any) -> None:
    os.write(1, f"{LINE}\n".encode())
