"""What routes are to be told is noted once, whole or not at all, whoever notes it."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from tests.on_call.conftest import NOW, events, incident, resolve, route, rows
from workers.desk.models import Delivery, Incident, Route
from workers.desk.rules import incident_routing
from workers.desk.store import deliveries
from workers.desk.store.delivery_plans import RESOLVED_SECONDS, plan

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)


def test_each_route_is_told_once_of_each_incident():
    mail, chat = route(), route("chat", "slack")
    first, second = incident("a"), incident("b")

    assert plan(NOW) == 4
    assert plan(NOW + SECOND) == 0

    assert {(row["route_id"], row["incident_id"]) for row in rows()} == {
        (one.pk, about.pk) for one in (mail, chat) for about in (first, second)
    }
    for row in rows():
        assert (row["event"], row["state"], row["tries"]) == ("opened", "due", 0)
        assert row["at"] == row["next_at"] == NOW


def test_without_a_route_one_statement_says_so():
    incident()
    route(is_active=False)

    with CaptureQueriesContext(connection) as captured:
        assert plan(NOW) == 0
    assert len(captured) == 1
    assert rows() == []


def test_where_nothing_is_due_nothing_is_locked_or_written():
    route()
    incident()
    plan(NOW)

    with CaptureQueriesContext(connection) as captured:
        assert plan(NOW) == 0
    assert [one["sql"] for one in captured if "SELECT" not in one["sql"]] == []
    assert not any("FOR NO KEY UPDATE" in one["sql"] for one in captured)


def test_resolved_incident_is_told_once_to_routes_told_of_its_opening():
    early = route("early")
    one = incident()
    plan(NOW)
    late = route("late")
    resolve(one, NOW + SECOND)

    assert plan(NOW + SECOND) == 1
    assert plan(NOW + 2 * SECOND) == 0

    assert (events(early), events(late)) == (["opened", "resolved"], [])


def test_of_processes_it_is_told_once_no_other_fails_and_of_all_else_at_once():
    mail = route()
    incident("orders", at=NOW)
    incident("service", at=NOW, kind="agent", code="breaker_open", params={"about": "a"})
    assert plan(NOW) == 1
    assert plan(NOW + (incident_routing.SETTLED_SECONDS - 1) * SECOND) == 0
    Incident.objects.filter(key="orders").update(last_at=NOW + 3 * SECOND, members=150)
    assert plan(NOW + incident_routing.SETTLED_SECONDS * SECOND) == 0
    assert plan(NOW + (3 + incident_routing.SETTLED_SECONDS) * SECOND) == 1
    assert events(mail) == ["opened", "opened"]


def test_one_that_comes_back_is_told_of_anew():
    mail = route()
    one = incident()
    plan(NOW)
    resolve(one)
    plan(NOW)
    Incident.objects.update(state="open", resolved_at=None, reopened=1)

    assert plan(NOW) == 1
    assert events(mail) == ["opened", "resolved", "opened"]
    resolve(one)
    assert plan(NOW) == 1
    assert events(mail)[-1] == "resolved"


def test_the_end_of_long_ago_is_told_to_nobody():
    mail = route()
    one = incident()
    plan(NOW)
    resolve(one, NOW)

    assert plan(NOW + timedelta(seconds=RESOLVED_SECONDS)) == 0
    assert events(mail) == ["opened"]


def test_it_is_repeated_until_it_is_taken():
    mail = route(repeat_seconds=60)
    incident()
    for minute in range(4):
        plan(NOW + minute * 60 * SECOND)
    assert events(mail) == ["opened", "repeat", "repeat", "repeat"]

    Incident.objects.update(state="acknowledged")

    assert plan(NOW + HOUR) == 0
    assert [row["number"] for row in rows()] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("columns", "is_told"),
    [
        ({"agents": ["payment.charge"]}, True),
        ({"agents": ["shipping.book"]}, False),
        ({"kinds": ["failure"]}, True),
        ({"kinds": ["duty"]}, False),
        ({"least_severity": 2}, True),
        ({"least_severity": 1}, False),
    ],
)
def test_a_route_is_told_of_what_it_is_for(columns, is_told):
    route(**columns)
    incident()
    assert plan(NOW) == is_told


def test_an_agent_s_incident_is_known_by_what_it_is_about():
    route(agents=["payment.charge"])
    incident(kind="agent", code="breaker_open", params={"about": "payment.charge"})
    assert plan(NOW) == 1


def test_beyond_the_hourly_limit_one_digest_tells_of_the_rest():
    mail = route(hourly_limit=2)
    for number in range(5):
        incident(f"key-{number}")

    assert plan(NOW) == 3
    assert plan(NOW) == 0

    assert events(mail) == ["opened", "opened", "digest", "opened", "opened", "opened"]
    digest = Delivery.objects.get(event="digest")
    assert list(digest.gathered.values_list("state", flat=True)) == ["gathered"] * 3
    assert (digest.state, digest.incident) == ("due", None)

    incident("another")
    assert plan(NOW + SECOND) == 0
    assert plan(NOW + incident_routing.OVERFLOW_SECONDS * SECOND) == 1
    assert Delivery.objects.filter(event="digest").count() == 2


def test_what_stops_everything_leaves_although_the_hour_is_full():
    route(hourly_limit=1)
    for key in "abc":
        incident(key, severity=2)
    assert plan(NOW) == 2
    incident("all", severity=1)

    assert plan(NOW + SECOND) == 1
    assert Delivery.objects.latest("pk").incident == Incident.objects.get(key="all")

    # It has used up its own hour, not that of the others.
    Delivery.objects.exclude(incident__severity=1).delete()
    Delivery.objects.filter(event="digest").delete()
    assert plan(NOW + 2 * SECOND) == 2
    incident("all again", severity=1)
    assert plan(NOW + 3 * SECOND) == 0


def test_a_route_with_a_digest_is_told_of_all_at_once_so_often():
    mail = route(digest_seconds=3600)
    first = incident("a")
    assert plan(NOW) == 1
    incident("b")
    resolve(first)
    assert plan(NOW + 3599 * SECOND) == 0
    assert plan(NOW + HOUR) == 1

    assert events(mail) == ["digest", "opened", "digest", "opened", "resolved"]


def test_a_route_is_not_told_that_it_cannot_be_told():
    dead, other = route("dead"), route("other")
    incident(
        kind="other", code=deliveries.UNDELIVERABLE, params={"about": str(dead.pk), "message": "no"}
    )

    assert plan(NOW) == 1
    assert (events(dead), events(other)) == ([], ["opened"])


def test_incident_due_in_quiet_hours_is_told_afterwards_if_still_open():
    at = NOW.replace(hour=23, minute=0)
    mail = route(quiet_from="22:00", quiet_to="07:00")
    incident("heals")
    incident("stays")
    assert plan(at) == 0
    resolve(Incident.objects.get(key="heals"), at)

    assert plan(at + 8 * HOUR) == 1
    assert events(mail) == ["opened"]
    assert Delivery.objects.get().incident == Incident.objects.get(key="stays")


def test_the_database_itself_refuses_a_second_one():
    mail = route()
    one = incident()
    plan(NOW)
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(route=mail, incident=one, event="opened", at=NOW, next_at=NOW)


def test_a_deleted_route_takes_its_deliveries_along():
    route()
    incident()
    plan(NOW)
    Route.objects.all().delete()
    assert rows() == []
