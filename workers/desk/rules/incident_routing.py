"""Which routes are to be told of which incidents now, and in how many messages.  Pure.

A route's deliveries are the only record of what it was told, so the same rows always lead to the
same decision.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from workers.definitions.alert_kinds import Severity
from workers.desk.states import DeliveryEvent as Event

#: Beyond its hourly limit a route gets one message for all that is due, at most this often.
OVERFLOW_SECONDS = 600
HOUR_SECONDS = 3600
#: Orders stopped by one cause fail one after another.  A route is told once none has failed for the
#: former time, or once the first failed the latter time ago.
SETTLED_SECONDS, LONGEST_UNSETTLED_SECONDS = 4, 20


@dataclass(frozen=True, slots=True)
class Route:
    """The rules of a route: what it is told, and when not."""

    id: int
    #: Whether the receiver keeps incidents of its own, which must be ended there, too.
    keeps_incidents: bool = False
    #: Empty: of every kind, and of every agent.
    kinds: Collection[str] = ()
    agents: Collection[str] = ()
    #: 1 is the gravest.
    least_severity: int = 3
    quiet_from: time | None = None
    quiet_to: time | None = None
    time_zone: str = "UTC"
    #: 0: nothing is repeated, and nothing is gathered.
    repeat_seconds: int = 0
    digest_seconds: int = 0
    hourly_limit: int = 20
    muted_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """The facts of an incident that decide who is told of it."""

    id: int
    kind: str
    agent: str
    severity: int
    #: Neither taken, nor snoozed, nor resolved.
    is_open: bool
    is_acknowledged: bool
    is_resolved: bool
    #: How often it came back after it was resolved.
    reopened: int = 0
    #: When the incident opened, and when the newest of its processes failed.
    opened_at: datetime | None = None
    last_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PastDelivery:
    """A delivery to a route about an incident, whether it has arrived or not."""

    event: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice that is due to a route about an incident."""

    incident_id: int
    event: Event
    reopened: int
    #: 1, 2, ... for repeats.
    number: int = 0
    #: Somebody must act at once; less grave notices never hold it up.
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """Recent messages to a route, which limit the next ones."""

    #: Messages on one incident within the last hour: urgent ones, and all others.
    urgent_in_hour: int = 0
    sent_in_hour: int = 0
    last_digest_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The messages that leave now: one for each of ``alone``, and one for all of ``together``."""

    alone: list[Notice] = field(default_factory=list)
    together: list[Notice] = field(default_factory=list)


def notice(
    route: Route, incident: Incident, past: Sequence[PastDelivery], now: datetime
) -> Notice | None:
    """Return what a route is to be told of an incident now, or None.

    ``past`` is the route's deliveries since the incident opened, or was reopened.  An incident
    that was taken, snoozed or resolved before its first notice gets none; nothing is repeated
    while it is taken or snoozed.
    """
    events = {delivery.event for delivery in past}
    is_urgent = incident.severity == Severity.URGENT
    if Event.OPENED not in events:
        if incident.is_open and is_meant(route, incident) and is_settled(incident, now):
            return Notice(incident.id, Event.OPENED, incident.reopened, is_urgent=is_urgent)
        return None
    if incident.is_resolved:
        if Event.RESOLVED not in events:
            return Notice(incident.id, Event.RESOLVED, incident.reopened)
        return None
    if incident.is_acknowledged and route.keeps_incidents and Event.ACKNOWLEDGED not in events:
        return Notice(incident.id, Event.ACKNOWLEDGED, incident.reopened)
    last_at = max(delivery.at for delivery in past)
    is_late = now >= last_at + timedelta(seconds=route.repeat_seconds)
    if incident.is_open and route.repeat_seconds and is_late and is_meant(route, incident):
        number = 1 + sum(delivery.event == Event.REPEAT for delivery in past)
        return Notice(incident.id, Event.REPEAT, incident.reopened, number, is_urgent)
    return None


def is_meant(route: Route, incident: Incident) -> bool:
    """Say whether a route is for an incident at all."""
    return (
        incident.severity <= route.least_severity
        and (not route.kinds or incident.kind in route.kinds)
        and (not route.agents or incident.agent in route.agents)
    )


def is_settled(incident: Incident, now: datetime) -> bool:
    """Say whether an incident has stopped growing for now, or has waited long enough."""
    if incident.opened_at is None or incident.last_at is None:
        return True
    return now >= min(
        incident.last_at + timedelta(seconds=SETTLED_SECONDS),
        incident.opened_at + timedelta(seconds=LONGEST_UNSETTLED_SECONDS),
    )


def is_silent(route: Route, now: datetime) -> bool:
    """Say whether a route is told of nothing just now: it is muted, or its hours are quiet.

    Notices that are due stay due, and leave afterwards if they still are.
    """
    if route.muted_until is not None and now < route.muted_until:
        return True
    begin, end = route.quiet_from, route.quiet_to
    if begin is None or end is None or begin == end:
        return False
    local = now.astimezone(zone_of(route.time_zone)).time()
    return begin <= local < end if begin < end else local >= begin or local < end


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone; UTC if this machine does not know it: a wrong hour beats silence."""
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        return ZoneInfo("UTC")


def plan(route: Route, notices: Iterable[Notice], history: History, now: datetime) -> Plan:
    """Return the messages in which a route is told of what is due now.

    Notices that only end an incident at the receiver leave at once.  For the rest, a route with
    a digest gets one message for all, every ``digest_seconds`` at most; any other route gets one
    each up to its hourly limit, and beyond it one for all each ``OVERFLOW_SECONDS``.  Urgent
    notices have such a limit of their own, which no other uses up.  Notices in neither list stay
    due.
    """
    if is_silent(route, now):
        return Plan()
    ending: list[Notice] = []
    rest: list[Notice] = []
    for due in notices:
        is_ending = due.event in (Event.ACKNOWLEDGED, Event.RESOLVED)
        (ending if is_ending and route.keeps_incidents else rest).append(due)
    if route.digest_seconds:
        return Plan(ending, rest if _may_gather(history, route.digest_seconds, now) else [])
    urgent = [due for due in rest if due.is_urgent]
    others = [due for due in rest if not due.is_urgent]
    alone: list[Notice] = []
    beyond: list[Notice] = []
    for due_now, sent in ((urgent, history.urgent_in_hour), (others, history.sent_in_hour)):
        room = max(0, route.hourly_limit - sent)
        alone += due_now[:room]
        beyond += due_now[room:]
    if not _may_gather(history, OVERFLOW_SECONDS, now):
        beyond = []
    return Plan(ending + alone, beyond)


def _may_gather(history: History, seconds: int, now: datetime) -> bool:
    last = history.last_digest_at
    return last is None or now >= last + timedelta(seconds=seconds)
