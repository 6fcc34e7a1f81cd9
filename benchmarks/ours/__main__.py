"""Ours: run in a process of its own, with the database and broker in the environment.

python -m benchmarks.ours throughput 2000
python -m benchmarks.ours latency 100

The last line is one JSON object.
"""

import os
import sys

from benchmarks import child

child.ensure_folder()
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.settings")
os.environ.setdefault("SAS_LOG_LEVEL", "WARNING")

import django  # noqa: E402

django.setup()

from benchmarks.ours import (  # noqa: E402
    accepting,
    applying,
    draining,
    growing,
    idling,
    recovering,
    sweeping,
    waiting,
)

child.serve(
    {
        "throughput": draining.throughput,
        "latency": waiting.latency,
        "apply": applying.apply,
        "submission": accepting.accept,
        "sweep": sweeping.sweep,
        "recovery": recovering.recovery,
        "growth": growing.growth,
        "idle": idling.idle,
    },
    sys.argv[1:],
)
