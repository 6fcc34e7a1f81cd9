"""Ours: run in a process of its own, with the database and broker in the environment.

python -m benchmarks.ours filled 2000
python -m benchmarks.ours idle 100

The last line is one JSON object.
"""

from benchmarks.ours import environment  # noqa: F401  (first)

# isort: split
from benchmarks.ours import (
    accepting,
    applying,
    beside,
    growing,
    idling,
    limited,
    listing,
    outage,
    pacing,
    recovering,
    stack,
    sweeping,
)
from benchmarks.ours.system import SYSTEM
from benchmarks.regimes import runs

runs.serve(
    SYSTEM,
    "benchmarks.ours.system",
    apply=applying.apply,
    submission=accepting.accept,
    sweep=sweeping.sweep,
    recovery=recovering.recovery,
    growth=growing.growth,
    rest=idling.rest,
    stack=stack.stack,
    beside=beside.beside,
    paced=pacing.paced,
    capacity=pacing.capacity,
    rated=limited.rated,
    listed=listing.listed,
    outage=outage.outage,
)
