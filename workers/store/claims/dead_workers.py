"""Record on their steps that the worker of some claims has died."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from workers.rules import dead_workers
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import durable
from workers.store import isolation
from workers.store.db import dialect
from workers.store.locked import load, log_lines


def note(
    mark: str, is_gone: Callable[[str], bool], cause: str, now: datetime | None = None
) -> list[dict[str, Any]]:
    """Record a fault on the steps that a worker's dead processes ran; return these steps' facts.

    ``mark`` is the suffix of the names of the worker's processes; ``is_gone`` says by such a name
    whether the process has died.  Only for started claims that hold, are before their deadline and
    have no reply: an answered claim needs no fault.  Counts and moves nothing.
    """
    rows = dialect.fetch(
        "SELECT s.process_id, s.locked_by FROM workers_live l"
        f" JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        " WHERE l.state = 'processing' AND NOT l.is_deferred AND s.locked_by LIKE %s",
        [f"%{mark}"],
    )
    dead_names = {name for name in {name for _, name in rows} if is_gone(name)}
    parts = isolation.apart(
        sorted({owner for owner, name in rows if name in dead_names}),
        lambda process_ids: _note(process_ids, dead_names, cause, now),
        isolation.alerting("process", "note", now),
    )
    return [fact for facts in parts for fact in facts]


@load.again_when_lost
def _note(
    process_ids: Sequence[int], dead_names: Collection[str], cause: str, now: datetime | None
) -> list[dict[str, Any]]:
    with durable("dead_workers.note"):
        processes = load.lock(process_ids, now)
        facts = []
        for locked in processes:
            for step in locked.steps:
                if step.locked_by in dead_names and _is_unanswered(step, locked.now):
                    locked.touch(step)
                    step.fault = dead_workers.fault_of(step, cause).noted(locked.now)
                    facts.append(_facts(locked, step))
        load.write(processes)
    return facts


def _facts(locked: LockedProcess, step: StepRow) -> dict[str, Any]:
    return {
        **log_lines.about(locked),
        "agent": step.agent,
        "step": step.name,
        "attempt": step.attempt,
        "claim_id": str(step.claim_id),
    }


def _is_unanswered(step: StepRow, now: datetime) -> bool:
    return (
        step.is_at_work
        and step.complete_by is not None
        and step.complete_by > now
        and not step.is_filed
    )
