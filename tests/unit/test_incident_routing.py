"""Who is told of an incident, when, and in how many messages."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest

from workers.desk.rules.incident_routing import (
    OVERFLOW_SECONDS,
    History,
    Incident,
    Notice,
    PastDelivery,
    Plan,
    Route,
    is_meant,
    is_silent,
    notice,
    plan,
)
from workers.desk.states import DeliveryEvent as Event

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
ROUTE = Route(1)
OPEN = Incident(
    7, "error", "payment.charge", 2, is_open=True, is_acknowledged=False, is_resolved=False
)
TAKEN = replace(OPEN, is_open=False, is_acknowledged=True)
SNOOZED = replace(OPEN, is_open=False)
RESOLVED = replace(OPEN, is_open=False, is_resolved=True)


def ago(seconds: float, event: Event = Event.OPENED) -> PastDelivery:
    return PastDelivery(event, NOW - timedelta(seconds=seconds))


def event_of(route: Route, incident: Incident, *told: PastDelivery) -> Event | None:
    found = notice(route, incident, told, NOW)
    return None if found is None else found.event


def notices(count: int, event: Event = Event.OPENED) -> list[Notice]:
    return [Notice(number, event, 0) for number in range(count)]


def test_a_new_incident_is_told_once():
    assert notice(ROUTE, OPEN, [], NOW) == Notice(7, Event.OPENED, 0)
    assert notice(ROUTE, OPEN, [ago(1)], NOW) is None


@pytest.mark.parametrize(
    ("opened", "last", "is_told"), [(5, 4, True), (5, 3.9, False), (19.9, 0, False), (20, 0, True)]
)
def test_it_is_told_once_no_other_process_fails_or_the_first_failed_long_ago(opened, last, is_told):
    at = {"opened_at": NOW - timedelta(seconds=opened), "last_at": NOW - timedelta(seconds=last)}
    incident = replace(OPEN, **at)
    assert (event_of(ROUTE, incident) == Event.OPENED) == is_told
    # Who was told is told of all else at once.
    over = replace(RESOLVED, **at)
    assert event_of(ROUTE, over, ago(1)) == Event.RESOLVED


def test_one_that_came_back_is_told_of_under_the_number_of_its_return():
    assert notice(ROUTE, replace(OPEN, reopened=2), [], NOW) == Notice(7, Event.OPENED, 2)


@pytest.mark.parametrize("incident", [TAKEN, SNOOZED, RESOLVED])
def test_incident_no_longer_open_before_first_notice_is_not_told(incident):
    assert event_of(ROUTE, incident) is None
    assert event_of(replace(ROUTE, keeps_incidents=True), incident) is None


def test_open_incident_is_repeated_until_acknowledged_or_snoozed():
    route = replace(ROUTE, repeat_seconds=900)

    assert event_of(route, OPEN, ago(899)) is None
    assert notice(route, OPEN, [ago(900)], NOW) == Notice(7, Event.REPEAT, 0, 1)
    assert event_of(route, OPEN, ago(1800), ago(899, Event.REPEAT)) is None
    again = notice(route, OPEN, [ago(1800), ago(900, Event.REPEAT)], NOW)
    assert again == Notice(7, Event.REPEAT, 0, 2)
    for incident in (TAKEN, SNOOZED):
        assert event_of(route, incident, ago(90_000)) is None


def test_nothing_is_repeated_on_a_route_without_repeats():
    assert event_of(ROUTE, OPEN, ago(1_000_000)) is None


def test_its_end_is_told_once_to_who_was_told_of_it():
    assert event_of(ROUTE, RESOLVED, ago(60)) == Event.RESOLVED
    assert event_of(ROUTE, RESOLVED, ago(60), ago(1, Event.RESOLVED)) is None


def test_its_end_is_told_even_where_the_route_is_for_others_by_now():
    assert event_of(replace(ROUTE, kinds=["breaker"]), RESOLVED, ago(60)) == Event.RESOLVED


def test_acknowledgement_is_told_once_to_routes_that_keep_incidents():
    route = replace(ROUTE, keeps_incidents=True)

    assert event_of(ROUTE, TAKEN, ago(60)) is None
    assert event_of(route, TAKEN, ago(60)) == Event.ACKNOWLEDGED
    assert event_of(route, TAKEN, ago(60), ago(1, Event.ACKNOWLEDGED)) is None
    assert event_of(route, SNOOZED, ago(60)) is None


@pytest.mark.parametrize(
    ("columns", "is_for_it"),
    [
        ({}, True),
        ({"kinds": ["error"]}, True),
        ({"kinds": ["breaker"]}, False),
        ({"agents": ["payment.charge", "b"]}, True),
        ({"agents": ["b"]}, False),
        ({"least_severity": 2}, True),
        ({"least_severity": 1}, False),
        ({"kinds": ["error"], "agents": ["b"]}, False),
    ],
)
def test_a_route_is_for_kinds_agents_and_severities(columns, is_for_it):
    route = replace(ROUTE, **columns)

    assert is_meant(route, OPEN) is is_for_it
    assert (notice(route, OPEN, [], NOW) is not None) is is_for_it


@pytest.mark.parametrize(
    ("begin", "end", "quiet", "loud"),
    [
        (time(22), time(7), ["22:00", "23:30", "00:00", "06:59"], ["07:00", "12:00", "21:59"]),
        (time(9), time(17), ["09:00", "16:59"], ["08:59", "17:00", "00:00"]),
    ],
)
def test_quiet_hours_are_the_routes_own(begin, end, quiet, loud):
    route = replace(ROUTE, quiet_from=begin, quiet_to=end, time_zone="Asia/Tokyo")

    def at(clock: str) -> datetime:
        return datetime.fromisoformat(f"2026-07-01T{clock}:00+09:00").astimezone(UTC)

    assert [is_silent(route, at(clock)) for clock in quiet] == [True] * len(quiet)
    assert [is_silent(route, at(clock)) for clock in loud] == [False] * len(loud)


def test_quiet_hours_follow_daylight_saving_time():
    route = replace(ROUTE, quiet_from=time(22), quiet_to=time(7), time_zone="Europe/Paris")

    assert not is_silent(route, datetime(2026, 7, 1, 5, 30, tzinfo=UTC)), "07:30 in summer"
    assert is_silent(route, datetime(2026, 12, 1, 5, 30, tzinfo=UTC)), "06:30 in winter"


def test_a_time_zone_that_is_not_there_silences_nobody():
    route = replace(ROUTE, quiet_from=time(11), quiet_to=time(13), time_zone="Atlantis/Capital")
    assert is_silent(route, NOW)
    assert not is_silent(route, NOW + timedelta(hours=2))


def test_without_two_different_hours_none_are_quiet():
    assert not is_silent(replace(ROUTE, quiet_from=time(0)), NOW)
    assert not is_silent(replace(ROUTE, quiet_from=time(12), quiet_to=time(12)), NOW)


def test_a_muted_route_is_told_of_nothing_until_then():
    route = replace(ROUTE, muted_until=NOW + timedelta(seconds=1))

    assert plan(route, notices(3), History(), NOW) == Plan()
    assert len(plan(route, notices(3), History(), NOW + timedelta(seconds=1)).alone) == 3


def test_each_incident_is_a_message_of_its_own_up_to_the_hourly_limit():
    due = notices(25)

    found = plan(ROUTE, due, History(sent_in_hour=2), NOW)

    assert found == Plan(due[:18], due[18:])


def test_beyond_the_limit_one_message_leaves_each_ten_minutes():
    full = History(0, 20, NOW - timedelta(seconds=OVERFLOW_SECONDS - 1))

    assert plan(ROUTE, notices(3), full, NOW) == Plan()
    later = plan(ROUTE, notices(3), full, NOW + timedelta(seconds=1))
    assert later == Plan([], notices(3))


def test_what_stops_everything_is_held_up_by_nothing_that_is_less_grave():
    urgent = [replace(due, is_urgent=True) for due in notices(25)]
    full = History(0, 20, NOW - timedelta(seconds=1))

    assert plan(ROUTE, [*notices(3), *urgent[:2]], full, NOW) == Plan(urgent[:2])
    # Nor does a storm of its own kind go on for ever.
    assert plan(ROUTE, urgent, History(3), NOW) == Plan(urgent[:17], urgent[17:])


@pytest.mark.parametrize(("severity", "is_urgent"), [(1, True), (2, False), (3, False)])
def test_to_act_at_once_is_what_the_gravest_ask_for(severity, is_urgent):
    incident, route = replace(OPEN, severity=severity), replace(ROUTE, repeat_seconds=60)

    opened, repeated = (notice(route, incident, told, NOW) for told in ([], [ago(60)]))
    assert opened is not None
    assert repeated is not None
    assert (opened.is_urgent, repeated.is_urgent) == (is_urgent, is_urgent)
    ended = notice(route, replace(RESOLVED, severity=severity), [ago(60)], NOW)
    assert ended is not None
    assert not ended.is_urgent


def test_a_digest_gathers_everything_until_its_time():
    route = replace(ROUTE, digest_seconds=3600)
    lately = History(0, 0, NOW - timedelta(seconds=3599))

    assert plan(route, notices(2), History(), NOW) == Plan([], notices(2))
    assert plan(route, notices(2), lately, NOW) == Plan()
    later = plan(route, notices(2), lately, NOW + timedelta(seconds=1))
    assert later == Plan([], notices(2))


@pytest.mark.parametrize("event", [Event.ACKNOWLEDGED, Event.RESOLVED])
def test_what_ends_an_incident_elsewhere_is_in_no_digest_and_under_no_limit(event):
    route = replace(ROUTE, keeps_incidents=True)

    assert plan(route, notices(30, event), History(0, 20, NOW), NOW) == Plan(notices(30, event), [])
    assert plan(ROUTE, notices(1, event), History(0, 20, NOW), NOW) == Plan()


def test_nothing_due_is_no_digest():
    assert plan(replace(ROUTE, digest_seconds=60), [], History(), NOW) == Plan()
