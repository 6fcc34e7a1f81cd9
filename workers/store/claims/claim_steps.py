"""Claim due steps: each claim is started in the write that makes it, by the process that calls."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from math import inf
from uuid import UUID, uuid4

import msgspec

from workers.conf import sas
from workers.definitions import known, per_key, registry
from workers.definitions.effects import Effect
from workers.exceptions import AWAY
from workers.rules import dead_workers, limit_keys
from workers.rules.apply_reply import give_up_doubtful, make_pending
from workers.rules.rows import StepRow
from workers.rules.transitions import LockedProcess
from workers.runtime.gc_control import collected_later
from workers.states import StepState
from workers.store import isolation, key_limits, key_places
from workers.store.db import dialect, prepared_plans
from workers.store.db.transactions import durable
from workers.store.flow import due_steps, flow_control
from workers.store.locked import load

#: Time before claiming again a step that cannot be read or written.
UNUSABLE_SECONDS = 60
#: Time before looking again for a step whose process another session holds: it may have no other
#: wake-up.
HELD_SECONDS = 0.05


class Claim(msgspec.Struct, frozen=True):
    """A step claimed and started for one attempt, whose agent its process now calls."""

    step_id: int
    process_id: int
    claim_id: UUID
    attempt: int
    step: str
    agent: str
    timeout_seconds: int
    #: The idempotency key for the remote service.
    key: str
    #: It runs in the main thread, and no other call beside it.
    is_alone: bool = False
    #: The step that an undo step undoes.
    undoes_id: int | None = None
    #: An earlier claim ended without a known outcome.
    in_doubt: bool = False
    #: Its agent has a rate, and this call has been counted.
    is_rated: bool = False
    #: Its process as read and written; None: its request has to read it.
    owner: LockedProcess | None = None

    def __repr__(self) -> str:
        # The process holds customers' data.
        return f"Claim({self.step_id}, {self.claim_id}, {self.step!r}, attempt {self.attempt})"

    @classmethod
    def of(
        cls, step: StepRow, owner: LockedProcess, *, is_alone: bool = False, is_rated: bool = False
    ) -> "Claim":
        assert step.claim_id is not None
        return cls(
            step_id=step.id,
            process_id=step.process_id,
            claim_id=step.claim_id,
            attempt=step.attempt,
            step=step.name,
            agent=step.agent,
            timeout_seconds=step.spec.timeout_seconds,
            key=step.idempotency_key,
            is_alone=is_alone,
            undoes_id=step.undoes_id,
            in_doubt=step.is_in_doubt,
            is_rated=is_rated,
            owner=owner,
        )


@dataclass(slots=True)
class Room:
    """The room of one agent process, which starts at once what it claims."""

    #: The name of the worker that calls.
    worker: str
    #: Returns how many calls of an agent the process can begin now; 0 for agents it cannot call.
    calls: Callable[[str], int]
    #: The time that the process has for calls: it takes none with a longer timeout.
    seconds: float = inf
    #: The process has no call under way, so it may take one that has to run alone.
    is_idle: bool = False
    #: It takes only one that has to run alone, or has too little time left for.
    is_for_one: bool = False
    #: New for each settlement, so that its starts can be found again.
    delivery: UUID = field(default_factory=uuid4)
    #: Whether the answers of all writes that started claims were read.
    is_answered: bool = True
    #: The steps whose calls the process has begun.
    begun: Set[int] = frozenset()
    #: How long a step has been due that was left because other calls are under way or too little
    #: time is left; None: there is none.
    lone_seconds: float | None = None
    #: The process has no room for a due step whose service has some.
    is_used_up: bool = False
    #: The time after which a due step may be claimed that has no token, or whose process another
    #: session holds; None: there is none.
    rate_seconds: float | None = None
    _left: dict[str, int] = field(default_factory=dict)
    _has_taken: bool = False
    _is_taken_alone: bool = False

    def left(self, agent: str) -> int:
        """Return how many more calls of an agent the process can begin."""
        if agent not in self._left:
            self._left[agent] = self.calls(agent)
        return self._left[agent]

    def renew(self) -> None:
        """Count the room again: what was taken was not written."""
        self._left, self._has_taken, self._is_taken_alone = {}, False, False

    def take(self, step: StepRow, now: datetime) -> bool:
        """Use up room for one call.  False: there is none for this step."""
        if self._is_taken_alone or self.left(step.agent) <= 0:
            return False
        is_alone = runs_alone(step)
        is_late = step.spec.timeout_seconds > self.seconds
        if is_late or (is_alone and (not self.is_idle or self._has_taken)):
            due_since = step.not_before or now
            self.lone_seconds = max(self.lone_seconds or 0.0, (now - due_since).total_seconds())
            return False
        if self.is_for_one and not is_alone:
            return False
        self._left[step.agent] -= 1
        self._has_taken, self._is_taken_alone = True, is_alone
        return True


def runs_alone(step: StepRow) -> bool:
    """Say whether a step's call has to run alone in its process: it may kill it, or is serial."""
    return dead_workers.is_suspect(step) or registry.agent(step.agent).is_serial


class ClaimBatch(list[Claim]):
    """The claims of one look for due steps."""

    #: An agent with room had as many due steps as the limit: there may be more.
    is_cut_off = False
    #: There is news for a submitter.
    has_news = False
    #: Steps were blocked, and left their turn to others.
    has_blocked = False

    @property
    def is_to_go_on(self) -> bool:
        """Say whether another look may claim more; not after a look that found no room."""
        return self.is_cut_off and (bool(self) or self.has_blocked)


@collected_later
@prepared_plans.kept()
def claim_due(
    agents: set[str],
    room: Room,
    now: datetime | None = None,
) -> ClaimBatch:
    """Claim and start due pending steps in their turn, as many as there is room for.

    There must be room at the agent's service and in the process that calls.  Spends the tokens of
    agents with a rate in the same write.

    Two processes never claim the same step: rows that another one holds are skipped, and a step
    that is no longer pending under the lock is left alone.  If a row cannot be read or written, the
    others are claimed apart from it.
    """
    seen: list[tuple[int, int]] = []
    attempt = partial(_claim_due, agents, room, now, seen)
    try:
        return attempt()
    except AWAY:
        raise
    except Exception:
        # None: it was no row.
        if not seen:
            raise
    whole = ClaimBatch()
    # What the failed write has taken is free again.
    room.renew()
    parts = isolation.apart(
        list(dict.fromkeys(process_id for _, process_id in seen)),
        lambda process_ids: attempt(among=set(process_ids)),
        partial(_rest, now, seen),
    )
    for part in parts:
        whole += part
        whole.has_news |= part.has_news
    return whole


def _rest(
    now: datetime | None, seen: list[tuple[int, int]], process_id: int, error: Exception
) -> None:
    """Take a process's unusable steps out of the turn for a while, and raise an alert."""
    until = dialect.read_clock(now) + timedelta(seconds=UNUSABLE_SECONDS)
    step_ids = [step_id for step_id, owner_id in seen if owner_id == process_id]
    dialect.execute(
        "UPDATE workers_step SET not_before = %s WHERE state = 'pending'"
        f" AND {dialect.among('id')}",
        [dialect.instant_text(until), dialect.id_list(sorted(step_ids))],
    )
    isolation.alerting("process", "claim", now)(process_id, error)


def _claim_due(
    agents: set[str],
    own_room: Room,
    now: datetime | None,
    seen: list[tuple[int, int]],
    *,
    among: Collection[int] | None = None,
) -> ClaimBatch:
    """Claim as ``claim_due`` does, only steps of the processes ``among``, if given.

    Adds to ``seen`` the ids of the steps that it looks at, and of their processes.
    """
    with durable("claim_steps.claim_due"):
        # Most agents have no waiting steps: do not lock their rows or count their room.
        with dialect.pipelined():
            flow_answers = flow_control.ask(agents, now, if_backlogged=True)
        locked_flow = flow_control.LockedFlow(agents, now, flow_answers=flow_answers)
        if not locked_flow.backlogged:
            # A place may have come free of a key that has no token yet.
            if rated := [name for name in agents if per_key.rate(name) is not None]:
                own_room.rate_seconds = key_limits.seconds_to_next(rated, now)
            return ClaimBatch()
        return _claim(locked_flow, own_room, seen, among)


def _claim(
    locked_flow: flow_control.LockedFlow,
    own_room: Room,
    seen: list[tuple[int, int]],
    among: Collection[int] | None,
) -> ClaimBatch:
    """Claim for the agents whose flow rows are locked.

    Unlike elsewhere, processes are locked after the flow rows here.  That cannot deadlock, because
    locked processes are skipped and not waited for.
    """
    batch, at = ClaimBatch(), locked_flow.now
    instant = dialect.instant_text(at)
    room, worker = locked_flow.room(), own_room.worker
    candidates: list[tuple[int, int]] = []
    cut_off: set[str] = set()
    is_held_up = False
    for agent in sorted(locked_flow.backlogged):
        most = min(room.get(agent, 0), own_room.left(agent), int(sas.claim_batch))
        # At least one even without room: giving up a call that must not be repeated needs none.
        due_ids = _due(agent, max(1, most), instant)
        if 0 < most == len(due_ids):
            cut_off.add(agent)
        is_held_up |= most > 0 and not due_ids and bool(_due(agent, 1, instant, ""))
        own_room.is_used_up |= room.get(agent, 0) > 0 and own_room.left(agent) <= 0
        candidates += [ids for ids in due_ids if among is None or ids[1] in among]
    seen += candidates
    processes = load.lock((process_id for _, process_id in candidates), at, skip_locked=True)
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
    keys = room_of_keys(ready, at, in_turn=True)
    batch += take(ready, locked_flow, own_room, keys=keys)
    if keys is not None and keys.waited_for:
        but = {claim.step_id for claim in batch}
        batch.has_blocked = key_places.block(keys.waited_for, instant, but) > 0
    is_held_up |= keys is not None and keys.is_undecided
    waits = [locked_flow.seconds_to_next(), keys.seconds_to_next() if keys is not None else None]
    soonest = min((seconds for seconds in waits if seconds is not None), default=None)
    own_room.rate_seconds = HELD_SECONDS if is_held_up else soonest
    left = {agent: own_room.left(agent) for agent in cut_off if locked_flow.room().get(agent)}
    own_room.is_used_up |= 0 in left.values()
    batch.is_cut_off = any(left.values())
    if processes:
        load.write(processes, is_last=True)
    batch.has_news = any(locked.has_news for locked in processes)
    return batch


def _due(agent: str, limit: int, at: str, lock: str | None = None) -> list[tuple[int, int]]:
    """Return (step, process) ids of an agent's steps that look claimable; the lock decides.

    Skips those whose process another session holds, unless ``lock`` is another clause.

    Steps of versions that this code does not have keep their turn, and do not block later ones.
    """
    versions = dialect.id_list(sorted(known.own().versions))
    return dialect.fetch(
        f"SELECT s.id, s.process_id FROM {due_steps.steps('%s', '%s')}"
        f" AND {dialect.among(due_steps.VERSION)} {due_steps.IN_TURN}"
        " LIMIT %s " + (dialect.lock_rows("p", skip_locked=True) if lock is None else lock),
        [agent, at, versions, limit],
    )


def take(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    locked_flow: flow_control.LockedFlow,
    own_room: Room | None,
    waited_for: Collection[str] = (),
    keys: limit_keys.KeyRoom | None = None,
) -> list[Claim]:
    """Claim ready steps in memory while their agents, keys and the calling process have room.

    Leaves those of the agents in ``waited_for`` to their turn, and steps that this code does not
    know to a worker that does.
    """
    if own_room is None:
        return []
    room_left = Counter(locked_flow.room())
    claims: list[Claim] = []
    for locked, step in ready:
        agent, process = step.agent, locked.process
        if not known.is_known(process.workflow, process.version, agent):
            continue
        if locked.is_paused or step.name in locked_flow.held_steps or agent in waited_for:
            continue
        if room_left[agent] <= 0:
            continue
        if keys is not None and not keys.has_room(locked, step):
            continue
        # Also for a step that waits for a process to itself: no younger one takes its place.
        room_left[agent] -= 1
        if not own_room.take(step, locked.now):
            continue
        # A call in doubt is queried first, and then perhaps made.
        calls = 1 + (step.spec.effect == Effect.QUERYABLE and step.is_in_doubt)
        locked_flow.spend(agent, calls)
        if keys is not None:
            keys.take(locked, step, calls)
        locked.claim(step, own_room.worker, own_room.delivery)
        claims.append(
            Claim.of(
                step,
                locked,
                is_alone=runs_alone(step),
                is_rated=locked_flow.is_rated(agent),
            )
        )
    locked_flow.write_tokens()
    if keys is not None and keys.buckets:
        key_places.spend(keys, _agents_of(ready), locked_flow.now)
    return claims


def room_of_keys(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    at: datetime | None,
    *,
    in_turn: bool = False,
) -> limit_keys.KeyRoom | None:
    """Return the room of the keys in which steps need places; None, unread: they need none.

    The flow rows of the steps' agents must be locked, since ``at``.
    """
    return key_places.room(_agents_of(ready), at, in_turn=in_turn)


def _agents_of(ready: Sequence[tuple[LockedProcess, StepRow]]) -> dict[str, str]:
    """Return the keys in which steps need places, each with its agent."""
    return {key: step.agent for locked, step in ready for key in limit_keys.needed(locked, step)}


def take_or_queue(
    ready: Sequence[tuple[LockedProcess, StepRow]],
    locked_flow: flow_control.LockedFlow,
    worker: str,
    waited_for: Collection[str],
    own_room: Room | None = None,
    *,
    keys: limit_keys.KeyRoom | None = None,
) -> list[Claim]:
    """Claim steps that have just become ready, or queue them behind those that wait already."""
    prompt = [pair for pair in ready if not pair[1].spec.delay_seconds]
    claims = take(prompt, locked_flow, own_room, waited_for, keys)
    for locked, step in ready:
        if step.state == StepState.WAITING:
            make_pending(locked, step, worker)
    return claims
