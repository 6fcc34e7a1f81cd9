"""What is known of claims whose worker died over them: pure words on a step's row.

A pool's parent sees that a child of its has died over a message, and how.  The step keeps that as
its fault until complete-by, when it expires as ever: nobody is hurried, and nobody is accused of
slowness.  Of a whole worker that is killed nothing is known, and nothing is said.
"""

import re

import msgspec

from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow

CODE = "worker_died"
#: In which attempts, as ``of_claim`` says it.
_ATTEMPTS = re.compile(r" in (?:each of|the last) \d+ attempts: ")


def fault_of(step: StepRow, how: str) -> FaultRecord:
    """Return the fault of a step over whose present claim a worker has just died."""
    # One behind the other: any other fault between them ends the row.
    before = step.fault.deaths or 0 if step.fault is not None and step.fault.code == CODE else 0
    return FaultRecord(
        "expired",
        CODE,
        f"its worker died: {how}",
        claim=step.claim_id.hex if step.claim_id else None,
        deaths=before + 1,
    )


def of_claim(step: StepRow) -> FaultRecord | None:
    """Return what is to be said of a claim that expires because its worker died; None: nothing."""
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


def once(message: str) -> str:
    """Return what is said of dead workers as it would be of the first: how it died remains."""
    return _ATTEMPTS.sub(": ", message, count=1)
