"""Limit what each agent has in flight; its flow row is locked while that is counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from workers.conf import sas
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.rules.room import room_left
from workers.runtime.failpoints import around
from workers.store.db import dialect
from workers.store.flow import due_steps, holds
from workers.store.locked import load


@around("flow_control.ensure")
def ensure(limits: Mapping[str, tuple[int, float | None, int | None]]) -> None:
    """Insert missing flow rows; existing ones belong to the operators.

    ``limits`` has, by agent, the window, the rate, and the window of deferred calls.
    """
    for agent, (window, rate, deferred_window) in sorted(limits.items()):
        dialect.execute(
            'INSERT INTO workers_flow (agent, "window", rate_per_second, deferred_window,'
            " unavailable_streak, tokens) VALUES (%s, %s, %s, %s, 0, 0)"
            " ON CONFLICT DO NOTHING",
            [agent, window, rate, deferred_window],
        )


#: An order that came less than this ago, while there is room: its wake-up claims its first step,
#: together with other steps of that moment.
FRESH = timedelta(seconds=0.1)

#: SQL for the number of claims that take up room of the agent of a flow row f.
IN_FLIGHT = (
    "(SELECT count(*) FROM workers_live l WHERE l.state = 'processing'"
    " AND NOT l.is_deferred AND l.agent = f.agent)"
)

#: SQL for the number of outstanding answers of the agent of a flow row f; 0 if they have no limit,
#: because then they are not counted.
OUTSTANDING = (
    "CASE WHEN f.deferred_window IS NULL THEN 0 ELSE (SELECT count(*) FROM workers_live l"
    " WHERE l.is_deferred AND l.agent = f.agent) END"
)


#: Answers of the statements that lock the flow rows of agents, and then count their claims.
FlowAnswers = tuple[dialect.Answer, dialect.Answer]


def foresee(step_ids: Sequence[int], now: datetime | None) -> FlowAnswers:
    """Send the statements of a ``LockedFlow`` for the agents of steps and their waiting siblings.

    Use in a ``pipelined`` block, after the statement that locks their processes.
    """
    return _ask(_of_processes(), [dialect.id_list(step_ids)] * 2, now)


def _of_processes() -> str:
    agents = (
        f"SELECT s.agent FROM workers_step s WHERE {dialect.among('s.id')}"
        f" UNION SELECT t.agent FROM {load.siblings()} WHERE t.state = 'waiting'"
    )
    return dialect.among_found("f.agent", agents)


def ask(agents: set[str], now: datetime | None, *, if_backlogged: bool = False) -> FlowAnswers:
    """Send the statements of a ``LockedFlow`` for ``agents``, in a ``pipelined`` block.

    With ``if_backlogged``, locks only the rows of agents for which a step is due.
    """
    return _ask(dialect.among("f.agent"), [dialect.id_list(sorted(agents))], now, if_backlogged)


def has_passed(agent: str) -> bool:
    """Say whether the agent's last answer reached its service; no lock: it may be older."""
    rows = dialect.fetch("SELECT unavailable_streak FROM workers_flow WHERE agent = %s", [agent])
    return rows == [(0,)]


@dataclass(slots=True)
class _AgentFlow:
    """The locked row of one agent, and the number of its claims and answers."""

    window: int
    breaker: Breaker
    #: None: no rate is set.
    bucket: Bucket | None
    #: The most outstanding answers; None: no limit.
    deferred_window: int | None
    #: Claims that take up room, including changes by this transaction.
    in_flight: int
    #: Outstanding answers, including changes by this transaction; 0 without a limit.
    outstanding: int
    #: When the order of the next due step came; None: no step was due when the row was locked.
    came_at: datetime | None

    def room(self, now: datetime) -> int:
        """Return how many more claims its service may get."""
        return room_left(self, now)


class LockedFlow:
    """The flow rows of some agents, all locked by one statement: room, and breakers.

    A transaction must lock all rows that it needs in one call, or two transactions may deadlock.
    """

    def __init__(
        self,
        agents: set[str],
        now: datetime | None,
        *,
        flow_answers: FlowAnswers | None = None,
    ) -> None:
        """Lock the rows of ``agents``.

        ``flow_answers`` are statements sent before; compare ``agents`` with those needed then.
        """
        self._at = now
        self._agents: dict[str, _AgentFlow] = {}
        #: Agents whose tokens were spent and not yet written.
        self._spent: set[str] = set()
        held_names: holds.HeldNames = frozenset()
        if agents:
            if flow_answers is None:
                with dialect.pipelined():
                    flow_answers = ask(agents, now)
            self._at, self._agents, held_names = _read(flow_answers, now)
        #: Names of steps that operators hold.
        self.held_steps = {name for kind, name in held_names if kind == "step"}
        self._is_held = ("everything", "") in held_names
        self._held_agents = {name for kind, name in held_names if kind == "agent"}

    @property
    def now(self) -> datetime:
        """Return the instant at which the rows were locked; at least one must be."""
        assert self._at is not None
        return self._at

    @property
    def at(self) -> datetime | None:
        """Return the instant at which the rows were locked; None: none is."""
        return self._at

    @property
    def agents(self) -> set[str]:
        """Return the agents whose rows are locked."""
        return set(self._agents)

    @property
    def backlogged(self) -> set[str]:
        """Return the agents for which a pending step was due when the rows were locked."""
        return {name for name, agent in self._agents.items() if agent.came_at is not None}

    def waited_for(self) -> set[str]:
        """Return the backlogged agents whose step waits for room or for a lost wake-up.

        Uses the room as it is now: call it before any is freed.
        """
        if not self.backlogged:
            return set()
        room = self.room()
        return {
            name
            for name, agent in self._agents.items()
            if agent.came_at is not None
            and (agent.came_at <= self.now - FRESH or room.get(name, 0) <= 0)
        }

    def in_flight(self, agent: str) -> int:
        """Return how many claims take up the agent's room, including those of this transaction."""
        return self._agents[agent].in_flight

    def bounds_answers(self, agent: str) -> bool:
        """Say whether an agent's outstanding answers are limited; False: its row is not locked."""
        row = self._agents.get(agent)
        return row is not None and row.deferred_window is not None

    def free(self, freed: Mapping[str, int], deferred: Mapping[str, int] | None = None) -> None:
        """Free the room of claims that this transaction ends, written or not.

        ``deferred`` has by how many the outstanding answers grow or shrink.
        """
        for name in set(freed) & set(self._agents):
            self._agents[name].in_flight -= freed[name]
        for name in set(deferred or ()) & set(self._agents):
            self._agents[name].outstanding += (deferred or {})[name]

    def room(self) -> dict[str, int]:
        """Return how many more claims the service of each agent may get.

        An agent without a row has no room: its row is inserted when its code is deployed.  Steps
        that wait for a callback take up none, except for an agent whose answers are limited.
        """
        return {name: agent.room(self.now) for name, agent in self._open()}

    def _open(self) -> Iterable[tuple[str, _AgentFlow]]:
        """Return the agents that operators do not hold."""
        if self._is_held:
            return ()
        return [row for row in self._agents.items() if row[0] not in self._held_agents]

    def spend(self, name: str, calls: int) -> None:
        """Use up the room of one claim, and the tokens of its calls if its agent has a rate."""
        agent = self._agents[name]
        agent.in_flight += 1
        if agent.bucket is not None:
            agent.bucket = agent.bucket.spent(calls)
            self._spent.add(name)

    def write_tokens(self) -> None:
        """Write the tokens that this transaction has spent."""
        for name in sorted(self._spent):
            bucket = self._agents[name].bucket
            assert bucket is not None
            dialect.execute(
                "UPDATE workers_flow SET tokens = %s, refilled_at = %s WHERE agent = %s",
                [bucket.tokens, dialect.instant_text(self.now), name],
            )
        self._spent.clear()

    def seconds_to_next(self) -> float | None:
        """Return the time until a waiting step gets a token; None: no step waits for one."""
        waits = [
            agent.bucket.seconds_to_next()
            for _, agent in self._open()
            if agent.bucket is not None and agent.bucket.room <= 0 and agent.came_at is not None
        ]
        return min(waits, default=None)

    def is_rated(self, agent: str) -> bool:
        """Say whether an agent has a rate, so that its calls are counted."""
        return self._agents[agent].bucket is not None

    def note_answers(self, reached: Mapping[str, Sequence[bool]]) -> None:
        """Update the breakers with answers, by agent and in order: was the service reached?

        Writes a row only if its breaker changes: a service that works costs nothing.
        """
        for name in sorted(set(reached) & set(self._agents)):
            agent = self._agents[name]
            breaker = agent.breaker.after(
                reached[name], self.now, int(sas.breaker_threshold), sas.breaker_seconds
            )
            if breaker == agent.breaker:
                continue
            agent.breaker = breaker
            dialect.execute(
                "UPDATE workers_flow SET unavailable_streak = %s, opened_at = %s, open_until = %s"
                " WHERE agent = %s",
                [
                    breaker.streak,
                    dialect.instant_text(breaker.opened_at) if breaker.opened_at else None,
                    dialect.instant_text(breaker.open_until) if breaker.open_until else None,
                    name,
                ],
            )


def _read(
    answers: FlowAnswers, now: datetime | None
) -> tuple[datetime | None, dict[str, _AgentFlow], holds.HeldNames]:
    """Return the instant of the lock, the flow of the locked agents, and operators' holds."""
    rows, count_rows = (answer() for answer in answers)
    under_way = {name: counts for name, *counts, _ in count_rows}
    # Steps that were due before the lock may have been claimed since.
    rows = [row for row in rows if row[0] in under_way]
    at = dialect.instant(rows[0][-1]) if rows else now
    agents = {}
    for name, window, bound, streak, opened_at, open_until, forced, *rated, _ in rows:
        rate, tokens, refilled_at = rated
        in_flight, outstanding, came_at = under_way[name]
        bucket = None
        if rate is not None and at is not None:
            bucket = Bucket(rate, tokens, dialect.instant(refilled_at)).refilled(at)
        agents[name] = _AgentFlow(
            window,
            Breaker(streak, dialect.instant(opened_at), dialect.instant(open_until), forced),
            bucket,
            bound,
            in_flight,
            outstanding,
            dialect.instant(came_at),
        )
    return at, agents, holds.read(count_rows[0][-1]) if count_rows else frozenset()


def _ask(
    condition: str, ids: list[Any], now: datetime | None, if_backlogged: bool = False
) -> FlowAnswers:
    """Send the statement that locks the agents of a condition, and then that which counts."""
    return _lock(condition, ids, now, if_backlogged), _look(condition, ids, now, if_backlogged)


def _lock(
    condition: str, ids: list[Any], now: datetime | None, if_backlogged: bool
) -> dialect.Answer:
    moment, params = dialect.clock(now)
    only = f" AND {due_steps.is_one('f.agent', 'c.at')}" if if_backlogged else ""
    return dialect.send(
        'SELECT f.agent, f."window", f.deferred_window, f.unavailable_streak, f.opened_at,'
        " f.open_until, f.forced, f.rate_per_second, f.tokens, f.refilled_at, c.at"
        f" FROM (SELECT {moment} AS at) c CROSS JOIN workers_flow f"
        f" WHERE {condition}{only} ORDER BY f.agent " + dialect.lock_rows("f"),
        [*params, *ids],
    )


def _look(
    condition: str, ids: list[Any], now: datetime | None, if_backlogged: bool
) -> dialect.Answer:
    """Send the statement that reads each agent's claims and next due step, and what is held.

    It must follow the lock: a snapshot older than the wait for the lock would miss what the other
    session has just claimed.
    """
    moment, params = dialect.clock(now)
    only = f" AND {due_steps.is_one('f.agent', 'c.at')}" if if_backlogged else ""
    came_at = due_steps.first("f.agent", "c.at", "p.created_at")
    return dialect.send(
        f"SELECT f.agent, {IN_FLIGHT}, {OUTSTANDING}, {came_at},"
        f" {holds.document()} FROM (SELECT {moment} AS at) c"
        f" CROSS JOIN workers_flow f WHERE {condition}{only}",
        [*params, *ids],
    )
