"""Claims: taking pending steps, and starting them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from workers.conf import sas
from workers.rules.apply_reply import give_up_doubtful, make_pending
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.failpoints import around
from workers.runtime.gc_control import collected_later
from workers.states import StepState
from workers.store.db import bulk_update, dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.flow import due_steps, flow_control
from workers.store.locked import load


class Claim(msgspec.Struct, frozen=True):
    """A step taken for one attempt, to be sent to its agent."""

    step_id: int
    process_id: int
    claim_id: UUID
    attempt: int
    step: str
    agent: str
    timeout_seconds: int
    #: The idempotency key for the remote service.
    key: str
    failure_count: int = 0
    #: Of an undo step: which step it undoes.
    undoes_id: int | None = None
    #: An earlier claim ended without telling whether it had its effect.
    in_doubt: bool = False
    #: Its agent has a rate: its call is counted when it is made.
    is_rated: bool = False
    #: What its agent has under way, this claim included; 0 where nobody counted.
    in_flight: int = 0
    #: Its process as it was read and written; None where that is to be read for its request.
    owner: LockedProcess | None = None

    def __repr__(self) -> str:
        # What was read along holds what customers have told.
        return f"Claim({self.step_id}, {self.claim_id}, {self.step!r}, attempt {self.attempt})"

    @classmethod
    def of(
        cls, step: StepRow, in_flight: int, owner: LockedProcess, *, is_rated: bool = False
    ) -> "Claim":
        assert step.claim_id is not None
        return cls(
            step_id=step.id,
            process_id=step.process_id,
            claim_id=step.claim_id,
            attempt=step.attempt,
            step=step.name,
            agent=step.agent,
            timeout_seconds=step.timeout_seconds,
            key=step.idempotency_key,
            failure_count=step.failure_count,
            undoes_id=step.undoes_id,
            in_doubt=step.is_in_doubt,
            is_rated=is_rated,
            in_flight=in_flight,
            owner=owner,
        )

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> "Claim":
        """Return the claim in a row whose columns stand as the fields do, up to ``is_rated``."""
        values = dict(zip(cls.__struct_fields__[:-2], row, strict=True))
        values["claim_id"] = UUID(str(values["claim_id"]))
        flags = {name: bool(values[name]) for name in ("in_doubt", "is_rated")}
        return cls(**values | flags)


class Taken(list[Claim]):
    """What a look for due steps has claimed."""

    #: An agent with room had as many due steps as were looked at: there may be more.
    is_cut_off = False
    #: A submitter is to be told of it.
    has_news = False

    @property
    def is_to_go_on(self) -> bool:
        """Say whether another look may take more; one that found no room will not."""
        return self.is_cut_off and bool(self)


@collected_later
@prepared_plans.kept()
def claim_due(
    agents: set[str],
    worker: str,
    now: datetime | None = None,
    *,
    along: Callable[[], None] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> Taken:
    """Take due pending steps in their turn, as many as each agent has room for.

    Two schedulers never take the same step: processes that another one holds are skipped,
    and a step that is no longer pending under the lock is left alone.  ``along`` may send what
    is to be asked in the same round trip; ``meanwhile`` may be called while the database works
    (``transactions.durable``).
    """
    with durable("claim_steps.claim_due", meanwhile=meanwhile):
        # Most agents have nothing waiting: their rows are not locked, nor their room counted.
        with dialect.pipelined():
            asked = flow_control.ask(agents, now, if_backlogged=True)
            if along is not None:
                along()
        locked_flow = flow_control.LockedFlow(agents, now, asked=asked)
        if not locked_flow.backlogged:
            return Taken()
        return _claim(locked_flow, worker)


def _claim(locked_flow: flow_control.LockedFlow, worker: str) -> Taken:
    """Claim for the agents whose flow rows are locked.

    Processes are locked after the flow rows here, the other way round than elsewhere: it
    waits for none of them, so nobody waits for it in a circle.
    """
    taken, at = Taken(), locked_flow.now
    room = locked_flow.room()
    candidates: list[tuple[int, int]] = []
    for agent in sorted(locked_flow.backlogged):
        most = min(room.get(agent, 0), int(sas.claim_batch))
        # One where there is no room: a call that must not be repeated is given up without.
        due = _due(agent, max(1, most), dialect.instant_text(at))
        taken.is_cut_off |= 0 < most == len(due)
        candidates += due
    lockeds = load.lock((process_id for _, process_id in candidates), at, skip_locked=True)
    if not lockeds:
        return taken
    turn = {step_id: place for place, (step_id, _) in enumerate(candidates)}
    ready = [
        (locked, step)
        for locked in lockeds
        if locked.is_open
        for step in locked.steps
        if step.id in turn
        and step.state == StepState.PENDING
        and not give_up_doubtful(locked, step, worker)
    ]
    ready.sort(key=lambda pair: turn[pair[1].id])
    taken += take(ready, room, locked_flow, worker)
    load.write(lockeds, is_last=True)
    taken.has_news = any(locked.has_news for locked in lockeds)
    return taken


def _due(agent: str, limit: int, at: str) -> list[tuple[int, int]]:
    """Return (step, process) ids of an agent's steps that look claimable; the lock decides."""
    return dialect.fetch(
        f"SELECT s.id, s.process_id FROM {due_steps.steps('%s', '%s')} {due_steps.IN_TURN}"
        " LIMIT %s " + dialect.lock_rows("p", skip_locked=True),
        [agent, at, limit],
    )


def take(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    room: Mapping[str, int],
    locked_flow: flow_control.LockedFlow,
    worker: str,
) -> list[Claim]:
    """Claim ready steps in memory while their agents have room."""
    left = Counter(room)
    allowance = float(sas.dispatch_allowance_seconds)
    taken: list[tuple[LockedProcess, StepRow]] = []
    for locked, step in ready:
        if locked.is_paused or step.name in locked_flow.held_steps:
            continue
        if left[step.agent] > 0:
            left[step.agent] -= 1
            locked.claim(step, worker, allowance)
            taken.append((locked, step))
    locked_flow.spend(Counter(step.agent for _, step in taken))
    return [
        Claim.of(
            step,
            locked_flow.in_flight(step.agent),
            locked,
            is_rated=locked_flow.is_rated(step.agent),
        )
        for locked, step in taken
    ]


def take_or_queue(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    locked_flow: flow_control.LockedFlow,
    worker: str,
    waited_for: Collection[str],
) -> list[Claim]:
    """Claim steps that just became ready, or queue them behind those that wait already."""
    prompt = [pair for pair in ready if not pair[1].delay_seconds]
    room = {name: left for name, left in locked_flow.room().items() if name not in waited_for}
    claims = take(prompt, room, locked_flow, worker)
    for locked, step in ready:
        if step.state == StepState.WAITING:
            make_pending(locked, step, worker)
    return claims


@around("claim_steps.start")
@prepared_plans.kept()
def start(
    claims: Sequence[tuple[int, UUID]],
    *,
    timeout_seconds: float,
    worker: str,
    delivery: UUID,
    now: datetime | None = None,
) -> set[int]:
    """Start the clock of claims that still hold; return their step ids.

    A claim that was superseded, or that another delivery has started, is left out: its
    agent must do nothing.  ``delivery`` is made afresh by each run of the agent, so a start
    whose answer was lost can be repeated; the clock does not move then.
    """
    moment, moment_params = dialect.clock(now)
    return bulk_update.update(
        "workers_step",
        {"id": "id", "claim_id": "uuid"},
        [{"id": step_id, "claim_id": claim_id} for step_id, claim_id in claims],
        f"started_at = COALESCE(t.started_at, {moment}),"
        f" complete_by = COALESCE(t.complete_by, {dialect.later(moment, '%s')}),"
        " locked_by = %s, delivery = v.delivery, may_have_effect = (t.effect <> 'none'),"
        f" began_at = COALESCE(t.began_at, {moment}),"
        f" key_used_at = COALESCE(t.key_used_at, {moment})",
        "t.state = v.state AND t.claim_id = v.claim_id"
        " AND (t.started_at IS NULL OR t.delivery = v.delivery)",
        params=[*moment_params * 2, timeout_seconds, worker, *moment_params * 2],
        same={"state": ("text", StepState.PROCESSING), "delivery": ("uuid", delivery)},
    )
