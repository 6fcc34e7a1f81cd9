"""Leaves out one thing that the engine does, to see what it costs.

Only for measurements, and only where ``BENCH_WITHOUT`` says: an engine without its journal
keeps none of its promises.
"""

import os

COSTS = ("journal", "confirms")


def leave_out() -> None:
    """Patch this process as ``BENCH_WITHOUT`` says; publisher confirms are a setting's."""
    if os.environ.get("BENCH_WITHOUT") == "journal":
        from workers.store import journal

        journal.write = lambda entries, at: None
