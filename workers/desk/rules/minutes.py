"""How figures of minutes are summed up to longer spans, and how long each is kept.  Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from workers.desk.rules import latency
from workers.desk.states import Span
from workers.states import ENDED_PROCESS_STATES, BreakerState

#: Results of a call; the first is success.
RESULTS = ("ok", "refused", "permanent", "transient", "unavailable", "expired")
#: Moves of processes, which belong to no agent.
MOVES = ("taken", "ended", "failed")
#: Events of processes, which are counted by workflow.
PROCESS_EVENTS = ("submitted", *sorted(map(str, ENDED_PROCESS_STATES)))
#: Events of claims beside their results.
RESENT, RELEASED, DEATHS = CLAIM_EVENTS = ("resent", "released", "deaths")
#: How long the last levels of agents are good for.
LEVELS_LAST = timedelta(minutes=3)
#: Stands for an agent in the figures of processes.
EVERY_PROCESS = ""

#: Spans that minutes are summed up to.
LONGER = (Span.TEN_MINUTES, Span.HOUR)
#: How long the figures of each span are kept.
KEPT = {
    Span.MINUTE: timedelta(days=30),
    Span.TEN_MINUTES: timedelta(days=30),
    Span.HOUR: timedelta(days=365),
}
_BREAKERS = list(BreakerState.values)


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of an agent's calls, or of processes, in a span."""

    agent: str
    #: Calls by result, or processes by move.
    counts: Mapping[str, int] = field(default_factory=dict)
    #: How long calls took, and how long claims had waited for a worker.
    calls: latency.Buckets = field(default_factory=dict)
    waits: latency.Buckets = field(default_factory=dict)
    #: Worker processes that ended a call.
    workers: int = 0
    #: How often something else happened: to claims, or to processes by workflow.
    events: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Level:
    """The load and health of an agent at an instant, or the worst of a span."""

    agent: str
    pending: int
    in_flight: int
    failed: int
    window_size: int
    #: How long the oldest step that may be claimed has waited; None: there is none.
    oldest_seconds: float | None
    breaker: str


_Row = TypeVar("_Row", Figures, Level)


def begin(at: datetime, seconds: int) -> datetime:
    """Return the beginning of the span that an instant lies in."""
    return datetime.fromtimestamp(at.timestamp() // seconds * seconds, UTC)


def summed(figures: Iterable[Figures]) -> list[Figures]:
    """Return the figures of several spans summed up by agent."""
    return [_sum(agent, group) for agent, group in sorted(_by_agent(figures).items())]


def read_event(name: str) -> tuple[str, str]:
    """Split the name by which an event of processes is counted into event and workflow."""
    event, _blank, workflow = name.partition(" ")
    return event, workflow


def _sum(agent: str, group: list[Figures]) -> Figures:
    return Figures(
        agent,
        latency.merged(row.counts for row in group),
        latency.merged(row.calls for row in group),
        latency.merged(row.waits for row in group),
        max(row.workers for row in group),
        latency.merged(row.events for row in group),
    )


def worst(levels: Iterable[Level]) -> list[Level]:
    """Return the levels of several instants as the worst of each, by agent."""
    return [_worst(agent, group) for agent, group in sorted(_by_agent(levels).items())]


def _worst(agent: str, group: list[Level]) -> Level:
    ages = [level.oldest_seconds for level in group if level.oldest_seconds is not None]
    return Level(
        agent,
        max(level.pending for level in group),
        max(level.in_flight for level in group),
        max(level.failed for level in group),
        max(level.window_size for level in group),
        max(ages, default=None),
        max((level.breaker for level in group), key=_BREAKERS.index),
    )


def _by_agent(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.agent, []).append(row)
    return groups
