"""Leaves out one thing that the engine does, to see what it costs.

Only for measurements, and only where ``BENCH_WITHOUT`` says: an engine without its journal
or its fence keeps none of its promises.
"""

import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

COSTS = ("journal", "fence", "confirms")


def leave_out() -> None:
    """Patch this process as ``BENCH_WITHOUT`` says; publisher confirms are a setting's."""
    left_out = os.environ.get("BENCH_WITHOUT", "")
    if left_out == "journal":
        from workers.store import journal

        journal.write = lambda entries, at: None
    elif left_out == "fence":
        from workers.store.claims import claim_steps

        vars(claim_steps)["start"] = _start


def _start(wanted: Sequence[tuple[int, UUID]], **given: Any) -> set[int]:
    """Believe every claim to hold, and start no clock."""
    return {step_id for step_id, _ in wanted}
