"""How much each agent may have in flight: its flow row is locked while that is counted."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from workers.conf import sas
from workers.rules.breaker import Breaker
from workers.rules.rate_limit import Bucket
from workers.rules.rows import AlertCall
from workers.runtime import timestamps
from workers.runtime.failpoints import around
from workers.store import alerts
from workers.store.db import dialect
from workers.store.flow import due_steps, holds
from workers.store.locked import load


@around("flow_control.ensure")
def ensure(limits: Mapping[str, tuple[int, float | None]]) -> None:
    """Make the flow rows that are missing, with window and rate; the others stay an operator's."""
    for agent, (window, rate) in sorted(limits.items()):
        dialect.execute(
            'INSERT INTO workers_flow (agent, "window", rate_per_second, unavailable_streak,'
            " tokens) VALUES (%s, %s, %s, 0, 0)"
            " ON CONFLICT DO NOTHING",
            [agent, window, rate],
        )


#: A step that is due for less than this, while there is room, has just been submitted: its wake-up
#: claims it, with what else came in that moment.
FRESH = timedelta(seconds=0.1)

#: SQL for the claims that take up room of the agent of a flow row f.
IN_FLIGHT = (
    "(SELECT count(*) FROM workers_live l WHERE l.state = 'processing'"
    " AND NOT l.is_deferred AND l.agent = f.agent)"
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
Asked = tuple[dialect.Answer, dialect.Answer]


def foresee(step_ids: Sequence[int], now: datetime | None) -> Asked:
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


def ask(agents: set[str], now: datetime | None, *, if_backlogged: bool = False) -> Asked:
    """Send what a ``LockedFlow`` needs, for ``agents``, in a ``pipelined`` block.

    With ``if_backlogged`` only the rows of agents are locked for which a step is due.
    """
    return _ask(dialect.among("f.agent"), [dialect.id_list(sorted(agents))], now, if_backlogged)


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
        asked: Asked | None = None,
    ) -> None:
        """Lock the rows of ``agents``.

        ``asked`` was sent before; ``agents`` then says whether it was of all that is needed.
        """
        found: list[tuple[Any, ...]] = []
        looked: list[tuple[Any, ...]] = []
        if agents and asked is None:
            with dialect.pipelined():
                asked = ask(agents, now)
        if agents and asked is not None:
            locked, look = asked
            looked = look()
            # What was due may have been claimed before the lock was had.
            still = {row[0] for row in looked}
            found = [row for row in locked() if row[0] in still]
        self._at = dialect.instant(found[0][-1]) if found else now
        self._windows = {row[0]: row[1] for row in found}
        self._breakers = {
            row[0]: Breaker(row[2], dialect.instant(row[3]), dialect.instant(row[4]), row[5])
            for row in found
        }
        self._buckets = {
            row[0]: Bucket(row[6], row[7], dialect.instant(row[8])).refilled(self.now)
            for row in found
            if row[6] is not None
        }
        #: Claims of each agent that take up room, with what this transaction has changed of it.
        self._in_flight: dict[str, int] = {}
        #: The agents for which a pending step was due when the rows were locked, and those of them
        #: for which one waits for room, or for a wake-up that is lost.
        self.backlogged: set[str] = set()
        self.waited_for: set[str] = set()
        fresh: set[str] = set()
        held: holds.Held = holds.read(looked[0][-1]) if looked else frozenset()
        for agent, in_flight, waiting, due_since, _ in looked:
            if agent in self._windows:
                self._in_flight[agent] = in_flight
                if agent in self._buckets:
                    self._buckets[agent] = self._buckets[agent].reserved(waiting)
                if (since := dialect.instant(due_since)) is not None:
                    self.backlogged.add(agent)
                    if since > self.now - FRESH:
                        fresh.add(agent)
        #: Names of steps of which nothing is to be claimed.
        self.held_steps = {name for kind, name in held if kind == "step"}
        self._is_held = ("everything", "") in held
        self._held_agents = {name for kind, name in held if kind == "agent"}
        if self.backlogged:
            room = self.room()
            self.waited_for = {
                agent for agent in self.backlogged if agent not in fresh or room.get(agent, 0) <= 0
            }

    @property
    def now(self) -> datetime:
        """Return the instant at which the rows were locked; some must be."""
        assert self._at is not None
        return self._at

    @property
    def agents(self) -> set[str]:
        """Return the agents whose rows are locked."""
        return set(self._windows)

    def in_flight(self, agent: str) -> int:
        """Return how many claims take up the agent's room, those of this transaction included."""
        return self._in_flight[agent]

    def free(self, freed: Mapping[str, int]) -> None:
        """Give room back for claims that this transaction ends, whether written yet or not."""
        for agent in set(freed) & set(self._in_flight):
            self._in_flight[agent] -= freed[agent]

    def room(self) -> dict[str, int]:
        """Return how many claims each agent may still take.

        An agent without a row has no room: its row is made when its code is deployed.  Steps
        that wait for a callback take up none.
        """
        if self._is_held:
            return {}
        room = {
            agent: self._breakers[agent].room(self.now, window, self._in_flight[agent])
            for agent, window in self._windows.items()
            if agent not in self._held_agents
        }
        for agent, bucket in self._buckets.items():
            if agent in room:
                room[agent] = min(room[agent], bucket.room)
        return room

    def spend(self, claims: Mapping[str, int]) -> None:
        """Take claims off the room of their agents, and keep tokens of their rates for them."""
        for agent in set(claims) & set(self._in_flight):
            self._in_flight[agent] += claims[agent]
        for agent in set(claims) & set(self._buckets):
            self._buckets[agent] = self._buckets[agent].reserved(claims[agent])

    def is_rated(self, agent: str) -> bool:
        """Say whether an agent's calls are counted when they are made."""
        return agent in self._buckets

    def note_answers(self, reached: Mapping[str, Sequence[bool]]) -> None:
        """Tell the breakers what came back, by agent and in order: was the service reached?

        A row is written only where its breaker changes: a service that works costs nothing.
        """
        for agent in sorted(set(reached) & set(self._breakers)):
            before = self._breakers[agent]
            after = before.after(
                reached[agent], self.now, int(sas.breaker_threshold), sas.breaker_seconds
            )
            if after == before:
                continue
            self._breakers[agent] = after
            dialect.execute(
                "UPDATE workers_flow SET unavailable_streak = %s, opened_at = %s, open_until = %s"
                " WHERE agent = %s",
                [
                    after.streak,
                    dialect.instant_text(after.opened_at) if after.opened_at else None,
                    dialect.instant_text(after.open_until) if after.open_until else None,
                    agent,
                ],
            )


@around("flow_control.alert_long_open")
def alert_long_open(now: datetime) -> int:
    """Raise an alert for each breaker that has kept steps waiting for long; return how many."""
    before = now - timedelta(seconds=sas.breaker_alert_seconds)
    found = dialect.fetch(
        "SELECT agent, opened_at FROM workers_flow WHERE opened_at < %s AND EXISTS (SELECT 1"
        " FROM workers_live l WHERE l.state = 'pending' AND l.agent = workers_flow.agent)"
        " ORDER BY agent",
        [dialect.instant_text(before)],
    )
    alerts.write(
        [
            AlertCall(
                cause=f"breaker_open:agent:{agent}",
                code="breaker_open",
                params={"agent": agent, "opened_at": timestamps.text_of(since)},
                is_counted=False,
            )
            for agent, opened_at in found
            if (since := dialect.instant(opened_at)) is not None
        ],
        now,
    )
    return len(found)


def _ask(which: str, given: list[Any], now: datetime | None, if_backlogged: bool = False) -> Asked:
    """Send the lock of the agents that a condition finds, and then the look at them."""
    return _lock(which, given, now, if_backlogged), _look(which, given, now, if_backlogged)


def _lock(
    which: str, given: list[Any], now: datetime | None, if_backlogged: bool
) -> dialect.Answer:
    moment, params = dialect.clock(now)
    only = f" AND {due_steps.is_one('f.agent', 'c.at')}" if if_backlogged else ""
    return dialect.send(
        'SELECT f.agent, f."window", f.unavailable_streak, f.opened_at, f.open_until,'
        " f.forced, f.rate_per_second, f.tokens, f.refilled_at, c.at"
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
    return dialect.send(
        f"SELECT f.agent, {IN_FLIGHT}, {unstarted()}, {due_since}, {holds.document()}"
        f" FROM (SELECT {moment} AS at) c CROSS JOIN workers_flow f"
        f" WHERE {which}{only}",
        [*params, *given],
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
