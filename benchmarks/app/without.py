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
        from workers.store import journal
        from workers.store.claims import claim_fast
        from workers.store.settle import settle_fast, successors_fast

        journal.write = lambda entries, at: None
        for module in (settle_fast, successors_fast, claim_fast):
            module.STATEMENT = without_journal(module.STATEMENT)
    elif left_out == "fence":
        from workers.store.claims import claim_steps

        claim_steps.start = _start


def without_journal(statement: str) -> str:
    """Return a statement without the part that writes the journal.

    Raises ``ValueError`` where it has none: what leaves nothing out would measure nothing.
    """
    found, count = _JOURNAL.subn("", statement)
    if count != 1:
        raise ValueError(f"{count} parts of the statement write the journal, and one should.")
    return found


def _start(wanted: Any, **given: Any) -> set[int]:
    """Believe every claim to hold, and start no clock."""
    return {step_id for step_id, _ in wanted}
