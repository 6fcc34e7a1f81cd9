"""Claim pending steps, and start claims."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import msgspec

from workers.conf import sas
from workers.definitions import known
from workers.rules import dead_workers
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
    """A step claimed for one attempt, to send to its agent."""

    step_id: int
    process_id: int
    claim_id: UUID
    attempt: int
    step: str
    agent: str
    timeout_seconds: int
    #: The idempotency key for the remote service.
    key: str
    #: It may kill its worker process, and so runs alone.
    is_alone: bool = False
    #: The step that an undo step undoes.
    undoes_id: int | None = None
    #: An earlier claim ended without a known outcome.
    in_doubt: bool = False
    #: Its agent has a rate: its call is counted when it starts.
    is_rated: bool = False
    #: It was started when it was claimed, by the process that now calls its agent.
    is_started: bool = False
    #: Its process as read and written; None: its request has to read it.
    owner: LockedProcess | None = None

    def __repr__(self) -> str:
        # The process holds customers' data.
        return f"Claim({self.step_id}, {self.claim_id}, {self.step!r}, attempt {self.attempt})"

    @classmethod
    def of(cls, step: StepRow, owner: LockedProcess, *, is_rated: bool = False) -> "Claim":
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
            is_alone=dead_workers.is_suspect(step),
            undoes_id=step.undoes_id,
            in_doubt=step.is_in_doubt,
            is_rated=is_rated,
            is_started=step.started_at is not None,
            owner=owner,
        )

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> "Claim":
        """Return the claim in a row, its columns in the order of the fields, up to ``is_rated``."""
        values = dict(zip(cls.__struct_fields__[:-2], row, strict=True))
        values["claim_id"] = UUID(str(values["claim_id"]))
        flags = {name: bool(values[name]) for name in ("is_alone", "in_doubt", "is_rated")}
        return cls(**values | flags)


@dataclass(slots=True)
class Room:
    """The room of one agent process, which starts at once what it claims."""

    #: The name of the worker that calls.
    worker: str
    #: Returns how many calls of an agent the process can begin now; 0 for agents it cannot call.
    calls: Callable[[str], int]
    #: New for each settlement, so that its starts can be found again.
    delivery: UUID = field(default_factory=uuid4)
    #: Whether the answers of all writes that started claims were read.
    is_answered: bool = True
    #: The steps whose calls the process has begun.
    begun: Set[int] = frozenset()
    _left: dict[str, int] = field(default_factory=dict)

    def left(self, agent: str) -> int:
        """Return how many more calls of an agent the process can begin."""
        if agent not in self._left:
            self._left[agent] = self.calls(agent)
        return self._left[agent]

    def take(self, step: StepRow) -> bool:
        """Use up room for one call.  False: there is none for this step."""
        if self.left(step.agent) <= 0 or dead_workers.is_suspect(step):
            return False
        self._left[step.agent] -= 1
        return True


class ClaimBatch(list[Claim]):
    """The claims of one look for due steps."""

    #: An agent with room had as many due steps as the limit: there may be more.
    is_cut_off = False
    #: There is news for a submitter.
    has_news = False

    @property
    def is_to_go_on(self) -> bool:
        """Say whether another look may claim more; not after a look that found no room."""
        return self.is_cut_off and bool(self)


@collected_later
@prepared_plans.kept()
def claim_due(
    agents: set[str],
    worker: str,
    now: datetime | None = None,
    *,
    own_room: Room | None = None,
    send_along: Callable[[], None] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> ClaimBatch:
    """Claim due pending steps in their turn, as many as each agent has room for.

    Starts in the same write what there is ``own_room`` for; the caller sends the others.

    Two schedulers never claim the same step: processes that another one holds are skipped, and a
    step that is no longer pending under the lock is left alone.  ``send_along`` may send more
    statements in the same round trip; ``meanwhile`` may be called while the database works
    (``transactions.durable``).
    """
    with durable("claim_steps.claim_due", meanwhile=meanwhile):
        # Most agents have no waiting steps: do not lock their rows or count their room.
        with dialect.pipelined():
            flow_answers = flow_control.ask(agents, now, if_backlogged=True)
            if send_along is not None:
                send_along()
        locked_flow = flow_control.LockedFlow(agents, now, flow_answers=flow_answers)
        if not locked_flow.backlogged:
            return ClaimBatch()
        return _claim(locked_flow, worker, own_room)


def _claim(locked_flow: flow_control.LockedFlow, worker: str, own_room: Room | None) -> ClaimBatch:
    """Claim for the agents whose flow rows are locked.

    Unlike elsewhere, processes are locked after the flow rows here.  That cannot deadlock, because
    locked processes are skipped and not waited for.
    """
    batch, at = ClaimBatch(), locked_flow.now
    room, to_send = locked_flow.room(), locked_flow.room_to_send()
    candidates: list[tuple[int, int]] = []
    for agent in sorted(locked_flow.backlogged):
        startable = to_send.get(agent, 0) + (own_room.left(agent) if own_room else 0)
        most = min(room.get(agent, 0), startable, int(sas.claim_batch))
        # At least one even without room: giving up a call that must not be repeated needs none.
        due_ids = _due(agent, max(1, most), dialect.instant_text(at))
        batch.is_cut_off |= 0 < most == len(due_ids)
        candidates += due_ids
    processes = load.lock((process_id for _, process_id in candidates), at, skip_locked=True)
    if not processes:
        return batch
    turn = {step_id: index for index, (step_id, _) in enumerate(candidates)}
    ready = [
        (locked, step)
        for locked in processes
        if locked.is_open
        for step in locked.steps
        if step.id in turn
        and step.state == StepState.PENDING
        and not give_up_doubtful(locked, step, worker)
    ]
    ready.sort(key=lambda pair: turn[pair[1].id])
    batch += take(ready, room, locked_flow, worker, own_room)
    load.write(processes, is_last=True)
    batch.has_news = any(locked.has_news for locked in processes)
    return batch


def _due(agent: str, limit: int, at: str) -> list[tuple[int, int]]:
    """Return (step, process) ids of an agent's steps that look claimable; the lock decides.

    Steps of versions that this code does not have keep their turn, and do not block later ones.
    """
    versions = dialect.id_list(sorted(known.own().versions))
    return dialect.fetch(
        f"SELECT s.id, s.process_id FROM {due_steps.steps('%s', '%s')}"
        f" AND {dialect.among(due_steps.VERSION)} {due_steps.IN_TURN}"
        " LIMIT %s " + dialect.lock_rows("p", skip_locked=True),
        [agent, at, versions, limit],
    )


def take(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    room: Mapping[str, int],
    locked_flow: flow_control.LockedFlow,
    worker: str,
    own_room: Room | None = None,
) -> list[Claim]:
    """Claim ready steps in memory while their agents have ``room`` and a process can start them.

    This process comes first, if it has ``own_room``: it starts them at once.  Else they are sent.
    Steps that this code does not know are left to a worker that does.
    """
    room_left, to_send = Counter(room), Counter(locked_flow.room_to_send())
    allowance = float(sas.dispatch_allowance_seconds)
    pairs: list[tuple[LockedProcess, StepRow]] = []
    for locked, step in ready:
        agent, process = step.agent, locked.process
        if not known.is_known(process.workflow, process.version, agent):
            continue
        if locked.is_paused or step.name in locked_flow.held_steps or room_left[agent] <= 0:
            continue
        # Rated calls are counted when a message starts them, so they never start here.
        is_own = own_room is not None and not locked_flow.is_rated(agent) and own_room.take(step)
        if not is_own and to_send[agent] <= 0:
            continue
        room_left[agent] -= 1
        to_send[agent] -= 1
        locked.claim(step, worker, allowance)
        if own_room is not None and is_own:
            locked.start(step, own_room.worker, own_room.delivery)
        pairs.append((locked, step))
    locked_flow.spend(Counter(step.agent for _, step in pairs))
    return [
        Claim.of(step, locked, is_rated=locked_flow.is_rated(step.agent)) for locked, step in pairs
    ]


def take_or_queue(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    locked_flow: flow_control.LockedFlow,
    worker: str,
    waited_for: Collection[str],
    own_room: Room | None = None,
) -> list[Claim]:
    """Claim steps that have just become ready, or queue them behind those that wait already."""
    prompt = [pair for pair in ready if not pair[1].delay_seconds]
    room = {name: count for name, count in locked_flow.room().items() if name not in waited_for}
    claims = take(prompt, room, locked_flow, worker, own_room)
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
    """Start claims that still hold; return their step ids.

    Leaves out a claim that was superseded, or that another delivery has started: its agent must
    do nothing.  Each run of the agent makes a new ``delivery``, so a start whose answer was lost
    can be repeated; that does not restart its clock.
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
