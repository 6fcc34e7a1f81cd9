"""Begin the steps that are lists of children: claim one, and have it wait for its group."""

from datetime import datetime
from uuid import uuid4

from msgspec.structs import replace

from workers.definitions.children import CHILDREN
from workers.protocol.messages import Reply
from workers.rules import child_groups
from workers.rules.apply_reply import apply_reply
from workers.rules.operator_commands import LONGEST_DEFERRAL
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.states import NEVER, StepState
from workers.store.db import dialect
from workers.store.db.transactions import durable
from workers.store.flow import due_steps
from workers.store.locked import load
from workers.store.settle.carry_on import carry_on
from workers.store.settle.settle_replies import SettleResult


@load.again_when_lost
def begin(limit: int, worker: str, now: datetime | None = None) -> SettleResult:
    """Begin due steps, and due undo steps, whose agent is ``CHILDREN``; ``applied`` says how many.

    Each is claimed and deferred in one write, together with its group: nothing is under way that
    could be lost.
    """
    at = dialect.instant_text(dialect.read_clock(now))
    result = SettleResult()
    with durable("child_groups.begin"):
        due = dialect.fetch(
            f"SELECT s.id, s.process_id FROM {due_steps.steps('%s', '%s')} {due_steps.IN_TURN}"
            " LIMIT %s " + dialect.lock_rows("p", skip_locked=True),
            [CHILDREN, at, limit],
        )
        step_ids = {step_id for step_id, _ in due}
        processes = load.lock((process_id for _, process_id in due), now, skip_locked=True)
        for locked in processes:
            for step in locked.steps:
                is_due = step.id in step_ids and step.state == StepState.PENDING
                if is_due and locked.is_open and not locked.is_paused:
                    _begin(locked, step, worker)
                    result.applied += 1
        result.claims, result.waited_for = carry_on(processes, worker, now)
        result.has_news = any(locked.has_news for locked in processes)
    return result


def _begin(locked: LockedProcess, step: StepRow, worker: str) -> None:
    locked.claim(step, worker, uuid4())
    assert step.claim_id is not None
    reply = Reply(step.id, step.claim_id, step.attempt)
    depth = 0 if step.undoes_id is not None else _depth(locked)
    if fault := child_groups.too_deep(depth):
        apply_reply(locked, replace(reply, fault=fault), worker)
        return
    group_id = _undo(step) if step.undoes_id is not None else _go_on(step) or _insert(step, depth)
    if group_id is None:
        apply_reply(locked, replace(reply, result={"compensated": 0}), worker)
        return
    apply_reply(locked, replace(reply, deferral={"seconds": LONGEST_DEFERRAL}), worker)
    if step.deferral is not None:
        step.complete_by = NEVER
        # Where the children are found until the step has a result.
        step.deferral = {**step.deferral, "group": group_id}


def _depth(locked: LockedProcess) -> int:
    """Return how many levels down the children of a process are."""
    if locked.process.group_id is None:
        return 1
    rows = dialect.fetch(
        "SELECT depth FROM workers_childgroup WHERE id = %s", [locked.process.group_id]
    )
    return 1 + (rows[0][0] if rows else 0)


def _insert(step: StepRow, depth: int) -> int:
    children = step.spec.children
    assert children is not None
    rows = dialect.fetch(
        "INSERT INTO workers_childgroup (step_id, key, workflow, depth, at_once, tolerate,"
        " expanded_to, born_to, processed, failed, stopped, is_undoing, is_paused, is_flagged)"
        " VALUES (%s, %s, %s, %s, %s, %s, 0, 0, 0, 0, false, false, false, true) RETURNING id",
        [
            *(step.id, step.idempotency_key, children["workflow"], depth),
            *(children["at_once"], children["tolerate"]),
        ],
    )
    return int(rows[0][0])


def _go_on(step: StepRow) -> int | None:
    """Have the group of a step that is tried again go on; return its id, or None if it has none.

    Children that were processed or are under way stay; those that failed are born again.
    """
    rows = dialect.fetch(
        "UPDATE workers_childgroup SET stopped = false, is_flagged = true, born_to = 0, failed = 0"
        " WHERE key = %s RETURNING id",
        [step.idempotency_key],
    )
    if not rows:
        return None
    dialect.execute(
        "UPDATE workers_child SET state = 'queued', process_id = NULL, outcome = NULL"
        " WHERE group_id = %s AND state IN ('ended', 'counted')"
        " AND outcome IN ('compensated', 'cancelled')",
        [rows[0][0]],
    )
    return int(rows[0][0])


def _undo(step: StepRow) -> int | None:
    """Stop the births of the group whose step this one undoes, and have its children undone."""
    rows = dialect.fetch(
        "UPDATE workers_childgroup SET stopped = true, is_undoing = true, is_flagged = true"
        " WHERE key = %s RETURNING id",
        [step.idempotency_key.removesuffix(":undo")],
    )
    return int(rows[0][0]) if rows else None
