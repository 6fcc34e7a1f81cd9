"""Leaves out one thing that the engine does, to see what it costs.

Only for measurements, and only where ``BENCH_WITHOUT`` says: an engine without its journal
or its fence keeps none of its promises.
"""

import os
import re
from typing import Any

#: The part of a statement that writes it.
_JOURNAL = re.compile(r", journal AS \(.*?^\)", re.DOTALL | re.MULTILINE)
COSTS = ("journal", "fence", "confirms")


def leave_out() -> None:
    """Patch this process as ``BENCH_WITHOUT`` says; publisher confirms are a setting's."""
    left_out = os.environ.get("BENCH_WITHOUT", "")
    if left_out == "journal":
        from workers.store import journal, plain

        journal.write = lambda entries, at: None
        plain.STATEMENT = _JOURNAL.sub("", plain.STATEMENT)
    elif left_out == "fence":
        from workers.store import claims

        claims.start = _start


def _start(wanted: Any, **given: Any) -> set[int]:
    """Believe every claim to hold, and start no clock."""
    return {step_id for step_id, _ in wanted}
