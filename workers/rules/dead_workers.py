"""What is known of claims whose worker died while it ran them.  Pure.

A pool's parent sees that one of its children died over a message, and how.  The step keeps that as
its fault until complete-by, when it expires as usual: the fault explains the silence and speeds
nothing up.  When a whole worker is killed nobody is left to tell, and nothing is noted.
"""

import re

import msgspec

from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow

CODE = "worker_died"
#: The code of a claim that expired without a word; see ``expire_claims.EXPIRED``.
SILENT = "expired"
#: What ``of_claim`` says of the attempts.
_ATTEMPTS = re.compile(r" in (?:each of|the last) \d+ attempts: ")


def fault_of(step: StepRow, how: str) -> FaultRecord:
    """Return the fault of a step over whose present claim a worker has just died."""
    # Consecutive deaths: any other fault in between begins the count again.
    before = step.fault.deaths or 0 if step.fault is not None and step.fault.code == CODE else 0
    return FaultRecord(
        "expired",
        CODE,
        f"its worker died: {how}",
        claim=step.claim_id.hex if step.claim_id else None,
        deaths=before + 1,
    )


def of_claim(step: StepRow) -> FaultRecord | None:
    """Return the fault of a claim that expires; None: nobody knows that its worker died."""
    fault = step.fault
    if fault is None or fault.code != CODE or step.claim_id is None:
        return None
    if fault.claim != step.claim_id.hex:
        # An earlier claim's; of this one nothing is known.
        return None
    deaths = fault.deaths or 1
    if deaths == 1:
        return fault
    attempts = step.failure_count + 1
    each = f"each of {deaths} attempts" if deaths == attempts else f"the last {deaths} attempts"
    how = fault.message.partition(": ")[2]
    return msgspec.structs.replace(fault, message=f"its worker died in {each}: {how}")


def is_suspect(step: StepRow) -> bool:
    """Say whether a call of the step may end its process, and so is made beside no other.

    It fell silent before, and one more silence would be its last.  Should it end its process, the
    calls beside it then have attempts left: none ends in error for a neighbor.
    """
    fell_silent = step.fault is not None and step.fault.code in (CODE, SILENT)
    return fell_silent and step.failure_count >= step.failure_threshold - 1


def once(message: str) -> str:
    """Return the message without the number of attempts, as after the first death."""
    return _ATTEMPTS.sub(": ", message, count=1)
