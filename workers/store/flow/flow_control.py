"""How much each agent may have in flight: its flow row is locked while that is counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from workers.conf import sas
from workers.definitions import registry
from workers.exceptions import UnknownAgent
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.runtime.failpoints import around
from workers.store import live_code, live_workers
from workers.store.db import dialect
from workers.store.flow import due_steps, holds
from workers.store.locked import load


@around("flow_control.ensure")
def ensure(limits: Mapping[str, tuple[int, float | None, int | None]]) -> None:
    """Make the flow rows that are missing; the others stay an operator's.

    Each has its window, its rate and its window of deferred calls.
    """
    for agent, (window, rate, deferred_window) in sorted(limits.items()):
        dialect.execute(
            'INSERT INTO workers_flow (agent, "window", rate_per_second, deferred_window,'
            " unavailable_streak, tokens) VALUES (%s, %s, %s, %s, 0, 0)"
            " ON CONFLICT DO NOTHING",
            [agent, window, rate, deferred_window],
        )


#: A step that is due for less than this, while there is room, has just been submitted: its wake-up
#: claims it, with what else came in that moment.
FRESH = timedelta(seconds=0.1)

#: SQL for the claims that take up room of the agent of a flow row f.
IN_FLIGHT = (
    "(SELECT count(*) FROM workers_live l WHERE l.state = 'processing'"
    " AND NOT l.is_deferred AND l.agent = f.agent)"
)

#: SQL for the answers that are outstanding of the agent of a flow row f; 0 where nothing bounds
#: them: they are not counted then.
OUTSTANDING = (
    "CASE WHEN f.deferred_window IS NULL THEN 0 ELSE (SELECT count(*) FROM workers_live l"
    " WHERE l.is_deferred AND l.agent = f.agent) END"
)


def unstarted() -> str:
    """Return SQL for the claims of those that nobody has started; 0 without a rate."""
    return (
        "CASE WHEN f.rate_per_second IS NULL THEN 0 ELSE (SELECT count(*) FROM workers_live l"
        f" JOIN workers_step s ON {dialect.looked_up('s.id', 'l.step_id')}"
        " WHERE l.state = 'processing' AND NOT l.is_deferred AND l.agent = f.agent"
        " AND s.started_at IS NULL) END"
    )


#: What was sent to lock the rows of some agents, and then to look at what they have under way.
FlowAnswers = tuple[dialect.Answer, dialect.Answer]


def foresee(step_ids: Sequence[int], now: datetime | None) -> FlowAnswers:
    """Send what a ``LockedFlow`` needs, for the agents of steps and of those that wait beside them.

    In a ``pipelined`` block, behind the lock of their processes.
    """
    return _ask(_of_siblings(), [dialect.id_list(step_ids)] * 2, now)


def _of_siblings() -> str:
    wanted = (
        f"SELECT s.agent FROM workers_step s WHERE {dialect.among('s.id')}"
        f" UNION SELECT t.agent FROM {load.siblings()} WHERE t.state = 'waiting'"
    )
    return dialect.among_found("f.agent", wanted)


def ask(agents: set[str], now: datetime | None, *, if_backlogged: bool = False) -> FlowAnswers:
    """Send what a ``LockedFlow`` needs, for ``agents``, in a ``pipelined`` block.

    With ``if_backlogged`` only the rows of agents are locked for which a step is due.
    """
    return _ask(dialect.among("f.agent"), [dialect.id_list(sorted(agents))], now, if_backlogged)


@dataclass(slots=True)
class _AgentFlow:
    """The locked row of one agent, and what the agent has under way."""

    window: int
    breaker: Breaker
    #: None: no rate is set.
    bucket: Bucket | None
    #: Answers outstanding at most; None: as many as there are.
    deferred_window: int | None
    #: Claims that take up room, with what this transaction has changed of them.
    in_flight: int
    #: Answers that are outstanding, with what this transaction has changed; 0 without a bound.
    outstanding: int
    #: Those of them that workers hold which have vanished.
    held_by_gone: int
    #: Calls that all live workers make of it at once; None: its code is not here to say.
    capacity: int | None
    #: Since when the next step in turn has been due; None: none was when the row was locked.
    due_since: datetime | None

    def room(self, now: datetime) -> int:
        """Return how many more claims its service may be given."""
        room = self.breaker.room(now, self.window, self.in_flight)
        if self.deferred_window is not None:
            # Each call that is under way may be the next to defer.
            places = self.deferred_window - self.outstanding - self.in_flight
            room = max(0, min(room, places))
        return room if self.bucket is None else min(room, self.bucket.room)

    def room_to_send(self, now: datetime) -> int:
        """Return how many more claims live workers can begin soon: no more are sent ahead."""
        room = self.room(now)
        if self.capacity is None:
            return room
        return max(0, min(room, self.capacity - self.in_flight + self.held_by_gone))


class LockedFlow:
    """The flow rows of some agents, locked in one go, by name: room, and breakers.

    All that a transaction needs must be locked by one call, or two transactions may wait
    for each other.
    """

    def __init__(
        self,
        agents: set[str],
        now: datetime | None,
        *,
        asked: FlowAnswers | None = None,
    ) -> None:
        """Lock the rows of ``agents``.

        ``asked`` was sent before; ``agents`` then says whether it was of all that is needed.
        """
        self._at = now
        self._agents: dict[str, _AgentFlow] = {}
        held: holds.HeldNames = frozenset()
        if agents:
            if asked is None:
                with dialect.pipelined():
                    asked = ask(agents, now)
            self._at, self._agents, held = _read(asked, now)
        #: Names of steps of which nothing is to be claimed.
        self.held_steps = {name for kind, name in held if kind == "step"}
        self._is_held = ("everything", "") in held
        self._held_agents = {name for kind, name in held if kind == "agent"}

    @property
    def now(self) -> datetime:
        """Return the instant at which the rows were locked; some must be."""
        assert self._at is not None
        return self._at

    @property
    def agents(self) -> set[str]:
        """Return the agents whose rows are locked."""
        return set(self._agents)

    @property
    def backlogged(self) -> set[str]:
        """Return the agents for which a pending step was due when the rows were locked."""
        return {name for name, agent in self._agents.items() if agent.due_since is not None}

    def waited_for(self) -> set[str]:
        """Return those of them for which a step waits for room, or for a wake-up that is lost.

        By the room there is now: ask before any is freed.
        """
        if not self.backlogged:
            return set()
        room = self.room()
        return {
            name
            for name, agent in self._agents.items()
            if agent.due_since is not None
            and (agent.due_since <= self.now - FRESH or room.get(name, 0) <= 0)
        }

    def in_flight(self, agent: str) -> int:
        """Return how many claims take up the agent's room, those of this transaction included."""
        return self._agents[agent].in_flight

    def bounds_answers(self, agent: str) -> bool:
        """Say whether the answers outstanding of an agent are bounded; False: it is not locked."""
        row = self._agents.get(agent)
        return row is not None and row.deferred_window is not None

    def free(self, freed: Mapping[str, int], deferred: Mapping[str, int] | None = None) -> None:
        """Give room back for claims that this transaction ends, whether written yet or not.

        ``deferred`` has by how many the answers outstanding grow, or become fewer.
        """
        for name in set(freed) & set(self._agents):
            self._agents[name].in_flight -= freed[name]
        for name in set(deferred or ()) & set(self._agents):
            self._agents[name].outstanding += (deferred or {})[name]

    def room(self) -> dict[str, int]:
        """Return how many claims the service of each agent may still be given.

        An agent without a row has no room: its row is made when its code is deployed.  Steps
        that wait for a callback take up none, but for an agent whose answers are bounded.
        """
        return {name: agent.room(self.now) for name, agent in self._open()}

    def room_to_send(self) -> dict[str, int]:
        """Return how many claims of each agent may be sent: ``room``, and live workers for them."""
        return {name: agent.room_to_send(self.now) for name, agent in self._open()}

    def _open(self) -> Iterable[tuple[str, _AgentFlow]]:
        """Return the agents of which operators hold nothing."""
        if self._is_held:
            return ()
        return [row for row in self._agents.items() if row[0] not in self._held_agents]

    def spend(self, claims: Mapping[str, int]) -> None:
        """Take claims off the room of their agents, and keep tokens of their rates for them."""
        for name in set(claims) & set(self._agents):
            agent = self._agents[name]
            agent.in_flight += claims[name]
            if agent.bucket is not None:
                agent.bucket = agent.bucket.reserved(claims[name])

    def is_rated(self, agent: str) -> bool:
        """Say whether an agent's calls are counted when they are made."""
        return self._agents[agent].bucket is not None

    def note_answers(self, reached: Mapping[str, Sequence[bool]]) -> None:
        """Tell the breakers what came back, by agent and in order: was the service reached?

        A row is written only where its breaker changes: a service that works costs nothing.
        """
        for name in sorted(set(reached) & set(self._agents)):
            agent = self._agents[name]
            after = agent.breaker.after(
                reached[name], self.now, int(sas.breaker_threshold), sas.breaker_seconds
            )
            if after == agent.breaker:
                continue
            agent.breaker = after
            dialect.execute(
                "UPDATE workers_flow SET unavailable_streak = %s, opened_at = %s, open_until = %s"
                " WHERE agent = %s",
                [
                    after.streak,
                    dialect.instant_text(after.opened_at) if after.opened_at else None,
                    dialect.instant_text(after.open_until) if after.open_until else None,
                    name,
                ],
            )


def _read(
    asked: FlowAnswers, now: datetime | None
) -> tuple[datetime | None, dict[str, _AgentFlow], holds.HeldNames]:
    """Return the instant of the lock, the agents that are locked, and what operators hold."""
    locked, looked = (answer() for answer in asked)
    under_way = {name: counts for name, *counts, _, _ in looked}
    workers = live_code.read(looked[0][-1] if looked else None)
    # Some of what was due before the lock may have been claimed since.
    locked = [row for row in locked if row[0] in under_way]
    at = dialect.instant(locked[0][-1]) if locked else now
    agents = {}
    for name, window, bound, streak, opened_at, open_until, forced, *rated, _ in locked:
        rate, tokens, refilled_at = rated
        in_flight, outstanding, gone, not_started, due_since = under_way[name]
        bucket = None
        if rate is not None and at is not None:
            bucket = Bucket(rate, tokens, dialect.instant(refilled_at), not_started).refilled(at)
        agents[name] = _AgentFlow(
            window,
            Breaker(streak, dialect.instant(opened_at), dialect.instant(open_until), forced),
            bucket,
            bound,
            in_flight,
            outstanding,
            gone,
            capacity(name, workers),
            dialect.instant(due_since),
        )
    return at, agents, holds.read(looked[0][-2]) if looked else frozenset()


def capacity(name: str, workers: live_code.LiveWorkers) -> int | None:
    """Return how many calls of an agent all live workers make at once; None: it is not known here.

    Only workers count that know the agent.
    """
    try:
        agent = registry.agent(name)
    except UnknownAgent:
        return None
    assumed = live_workers.assumed_processes
    return agent.side_by_side * (workers.calling(name, agent.queue) if assumed is None else assumed)


def _ask(
    which: str, given: list[Any], now: datetime | None, if_backlogged: bool = False
) -> FlowAnswers:
    """Send the lock of the agents that a condition finds, and then the look at them."""
    return _lock(which, given, now, if_backlogged), _look(which, given, now, if_backlogged)


def _lock(
    which: str, given: list[Any], now: datetime | None, if_backlogged: bool
) -> dialect.Answer:
    moment, params = dialect.clock(now)
    only = f" AND {due_steps.is_one('f.agent', 'c.at')}" if if_backlogged else ""
    return dialect.send(
        'SELECT f.agent, f."window", f.deferred_window, f.unavailable_streak, f.opened_at,'
        " f.open_until, f.forced, f.rate_per_second, f.tokens, f.refilled_at, c.at"
        f" FROM (SELECT {moment} AS at) c CROSS JOIN workers_flow f"
        f" WHERE {which}{only} ORDER BY f.agent " + dialect.lock_rows("f"),
        [*params, *given],
    )


def _look(
    which: str, given: list[Any], now: datetime | None, if_backlogged: bool
) -> dialect.Answer:
    """Ask of each agent how many claims take up room, whether steps wait for more, what is held.

    By a later statement than the lock: one whose snapshot is older than the wait for the lock
    would miss what the other session has just claimed.
    """
    moment, params = dialect.clock(now)
    only = f" AND {due_steps.is_one('f.agent', 'c.at')}" if if_backlogged else ""
    due_since = due_steps.first("f.agent", "c.at", "l.not_before")
    # By the clock itself: asked once, and not again for each agent.
    gone, workers = live_workers.held_by_gone("f.agent", moment), live_workers.document(moment)
    return dialect.send(
        f"SELECT f.agent, {IN_FLIGHT}, {OUTSTANDING}, {gone}, {unstarted()}, {due_since},"
        f" {holds.document()}, {workers} FROM (SELECT {moment} AS at) c"
        f" CROSS JOIN workers_flow f WHERE {which}{only}",
        [*params * (live_workers.CLOCKS + 1), *given],
    )


def seconds_to_next(now: datetime | None = None) -> float | None:
    """Return when the first agent whose rate is used up may take a due step; None: none waits.

    An agent that has a token left waits for something else, which no clock tells.
    """
    at = dialect.read_clock(now)
    waits = [
        Bucket(rate, tokens, dialect.instant(refilled_at), waiting).refilled(at).seconds_to_next()
        for rate, tokens, refilled_at, waiting in dialect.fetch(
            f"SELECT f.rate_per_second, f.tokens, f.refilled_at, {unstarted()} FROM workers_flow f"
            f" WHERE f.rate_per_second IS NOT NULL AND {due_steps.is_one('f.agent', '%s')}",
            [dialect.instant_text(at)],
        )
    ]
    return min((wait for wait in waits if wait > 0), default=None)
