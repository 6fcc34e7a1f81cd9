"""How figures of minutes become those of longer spans, and how long each is kept.  Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from workers.desk.rules import latency
from workers.desk.states import Span
from workers.states import BreakerState

#: What became of a call; the first is what should.
RESULTS = ("ok", "refused", "permanent", "transient", "unavailable", "expired")
#: What became of processes, which belong to no agent.
MOVES = ("taken", "ended", "failed")
#: What happens to claims beside their results.
RESENT, RELEASED, DEATHS = CLAIM_EVENTS = ("resent", "released", "deaths")
#: How long the last look at how agents stand is good for.
LEVELS_LAST = timedelta(minutes=3)
#: The agent of figures that are of processes.
EVERY_PROCESS = ""

#: What minutes are summed up to.
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
    """What became of an agent's calls in a span, or of processes."""

    agent: str
    #: By what became of them.
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
    """How an agent stands at an instant; of a span, at its worst."""

    agent: str
    pending: int
    in_flight: int
    failed: int
    window_size: int
    #: How long the oldest step that may be claimed has waited; None: none does.
    oldest_seconds: float | None
    breaker: str


_Row = TypeVar("_Row", Figures, Level)


def begin(at: datetime, seconds: int) -> datetime:
    """Return when the span begins that an instant lies in."""
    return datetime.fromtimestamp(at.timestamp() // seconds * seconds, UTC)


def summed(figures: Iterable[Figures]) -> list[Figures]:
    """Return figures of several spans as those of one, by agent."""
    return [_sum(agent, group) for agent, group in sorted(_by_agent(figures).items())]


def read_event(name: str) -> tuple[str, str]:
    """Return event and workflow of the name by which an event of processes is counted."""
    event, _blank, workflow = name.partition(" ")
    return event, workflow


def _sum(agent: str, group: list[Figures]) -> Figures:
    return Figures(
        agent,
        latency.merged(one.counts for one in group),
        latency.merged(one.calls for one in group),
        latency.merged(one.waits for one in group),
        max(one.workers for one in group),
        latency.merged(one.events for one in group),
    )


def worst(levels: Iterable[Level]) -> list[Level]:
    """Return the levels of several instants as the worst of each, by agent."""
    return [_worst(agent, group) for agent, group in sorted(_by_agent(levels).items())]


def _worst(agent: str, group: list[Level]) -> Level:
    ages = [one.oldest_seconds for one in group if one.oldest_seconds is not None]
    return Level(
        agent,
        max(one.pending for one in group),
        max(one.in_flight for one in group),
        max(one.failed for one in group),
        max(one.window_size for one in group),
        max(ages, default=None),
        max((one.breaker for one in group), key=_BREAKERS.index),
    )


def _by_agent(rows: Iterable[_Row]) -> dict[str, list[_Row]]:
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        groups.setdefault(row.agent, []).append(row)
    return groups
