"""Child groups as the Scheduler sees them: found, locked, and read with their parents."""

from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any
from uuid import UUID

from workers.protocol.messages import Reply
from workers.rules.child_groups import GroupRow
from workers.states import FINAL_PROCESS_STATES
from workers.store.db import dialect

_COLUMNS = ", ".join(f"g.{field.name}" for field in fields(GroupRow))
_FLAGS = ("stopped", "is_undoing", "is_paused")
#: How many rows of children are written or read at once.
PORTION = 500


@dataclass(frozen=True, slots=True)
class Parent:
    """The process of a group's step, as read without its lock."""

    process_id: int
    subject: str
    lane: str
    #: How much earlier its turn is than its submission; less than 0: its lane was full.
    head_start: timedelta
    is_paused: bool
    workflow: str
    version: int
    step: str
    #: The step that waits for the group: its own, or the undo of it; None: neither does.
    waiting: tuple[int, UUID, int] | None

    def reply(self, **outcome: Any) -> Reply | None:
        """Return a reply to the step that waits."""
        if self.waiting is None:
            return None
        return Reply(*self.waiting, **outcome, is_uncalled=True)


def flagged(limit: int) -> list[int]:
    """Return groups to look at: those that are flagged, and those of children that have ended."""
    rows = dialect.fetch(
        "SELECT id FROM (SELECT g.id FROM workers_childgroup g WHERE g.is_flagged"
        " ORDER BY g.id LIMIT %s) f UNION SELECT group_id FROM (SELECT k.group_id"
        " FROM workers_child k WHERE k.state = 'ended' AND k.state IN ('open', 'ended')"
        " ORDER BY k.group_id LIMIT %s) e",
        [limit, limit * PORTION],
    )
    return sorted(group_id for (group_id,) in rows)


def active(after: int, limit: int) -> list[int]:
    """Return the next groups whose children are born or undone."""
    rows = dialect.fetch(
        "SELECT g.id FROM workers_childgroup g WHERE (NOT g.stopped OR g.is_undoing) AND g.id > %s"
        " ORDER BY g.id LIMIT %s",
        [after, limit],
    )
    return [group_id for (group_id,) in rows]


def lock(group_id: int, *, skip_locked: bool = False) -> GroupRow | None:
    """Lock a group; None: another session holds it, or there is none."""
    rows = dialect.fetch(
        f"SELECT {_COLUMNS} FROM workers_childgroup g WHERE g.id = %s "
        + dialect.lock_rows("g", skip_locked=skip_locked),
        [group_id],
    )
    if not rows:
        return None
    group = GroupRow(*rows[0])
    for name in _FLAGS:
        setattr(group, name, bool(getattr(group, name)))
    return group


def write(group: GroupRow, *, is_flagged: bool = False) -> None:
    """Write what may change of a group that is locked."""
    names = ("total", "expanded_to", "born_to", "processed", "failed", "is_paused")
    assign = ", ".join(f"{name} = %s" for name in names)
    dialect.execute(
        f"UPDATE workers_childgroup SET {assign}, is_flagged = %s WHERE id = %s",
        [*(getattr(group, name) for name in names), is_flagged, group.id],
    )


def parent(group: GroupRow) -> Parent:
    """Read the parent of a group, in a statement after its lock."""
    row = dialect.fetch(
        "SELECT p.id, p.subject, p.lane, p.turn, p.created_at, p.paused_at IS NOT NULL, p.state,"
        " p.workflow, p.version, s.name, w.id, w.claim_id, w.attempt"
        " FROM workers_step s JOIN workers_process p ON p.id = s.process_id"
        " LEFT JOIN workers_step w ON w.process_id = p.id AND w.idempotency_key = %s"
        " AND w.state = 'processing' AND w.deferral IS NOT NULL WHERE s.id = %s",
        [f"{group.key}:undo" if group.is_undoing else group.key, group.step_id],
    )[0]
    process_id, subject, lane, turn, created_at, is_paused, state, *names, step_id, claim, n = row
    workflow, version, step = names
    came_at, created = dialect.instant(turn), dialect.instant(created_at)
    assert came_at is not None
    assert created is not None
    return Parent(
        process_id=process_id,
        subject=subject,
        lane=lane,
        head_start=created - came_at,
        is_paused=bool(is_paused) and state not in FINAL_PROCESS_STATES,
        workflow=workflow,
        version=version,
        step=step,
        waiting=None if step_id is None else (step_id, UUID(str(claim)), n),
    )


def under_way(group_id: int) -> int:
    """Count the children that are born and not counted."""
    rows = dialect.fetch(
        "SELECT count(*) FROM workers_child k WHERE k.group_id = %s"
        " AND k.state IN ('open', 'ended')",
        [group_id],
    )
    return int(rows[0][0])


def processes(group_id: int, condition: str) -> list[int]:
    """Return a portion of the processes p of children under way for which a condition holds."""
    rows = dialect.fetch(
        "SELECT p.id FROM workers_child k JOIN workers_process p ON p.id = k.process_id"
        f" WHERE k.group_id = %s AND k.state = 'open' AND {condition} ORDER BY p.id LIMIT %s",
        [group_id, PORTION],
    )
    return [process_id for (process_id,) in rows]
