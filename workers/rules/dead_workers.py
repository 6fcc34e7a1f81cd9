"""Faults of claims whose worker died while it ran them.  Pure.

A pool's parent process sees that a child died while it ran a message, and how.  The step keeps
that as its fault until complete-by, when it expires as usual: the fault explains the silence and
speeds nothing up.  When a whole worker is killed, no process is left to report it, so no fault is
recorded.
"""

import re

import msgspec

from workers.protocol.faults import FaultRecord
from workers.rules.rows import StepRow

CODE = "worker_died"
#: The code of a claim that expired without a reply; see ``expire_claims.EXPIRED``.
SILENT = "expired"
#: Matches what ``of_claim`` says about the attempts.
_ATTEMPTS = re.compile(r" in (?:each of|the last) \d+ attempts: ")


def fault_of(step: StepRow, cause: str) -> FaultRecord:
    """Return the fault of a step whose worker has just died while running its current claim."""
    # Count consecutive deaths: any other fault in between resets the count.
    deaths = step.fault.deaths or 0 if step.fault is not None and step.fault.code == CODE else 0
    return FaultRecord(
        "expired",
        CODE,
        f"its worker died: {cause}",
        claim=step.claim_id.hex if step.claim_id else None,
        deaths=deaths + 1,
    )


def of_claim(step: StepRow) -> FaultRecord | None:
    """Return the fault of a claim that expires; None: no death of its worker was reported."""
    fault = step.fault
    if fault is None or fault.code != CODE or step.claim_id is None:
        return None
    if fault.claim != step.claim_id.hex:
        # The fault belongs to an earlier claim; nothing is known about this one.
        return None
    deaths = fault.deaths or 1
    if deaths == 1:
        return fault
    attempts = step.failure_count + 1
    attempts_text = (
        f"each of {deaths} attempts" if deaths == attempts else f"the last {deaths} attempts"
    )
    cause = fault.message.partition(": ")[2]
    return msgspec.structs.replace(fault, message=f"its worker died in {attempts_text}: {cause}")


def is_suspect(step: StepRow) -> bool:
    """Say whether a call of the step may kill its worker process, and so must run alone.

    The step has died or expired before, and one more failure would be its last.  Run alone, it
    cannot use up the last attempt of a call that runs beside it.
    """
    fell_silent = step.fault is not None and step.fault.code in (CODE, SILENT)
    return fell_silent and step.failure_count >= step.failure_threshold - 1


def once(message: str) -> str:
    """Return the message without the number of attempts, as it was after the first death."""
    return _ATTEMPTS.sub(": ", message, count=1)
