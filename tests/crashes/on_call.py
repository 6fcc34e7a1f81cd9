"""Routes and what they are told: noted once, sent at least once, and set by operators."""

from collections.abc import Callable
from datetime import timedelta
from unittest.mock import patch

from django.test import override_settings
from django.utils import timezone

from tests.crashes.operating import _failed, _gathered
from tests.crashes.scenario import Scenario, is_first, nothing, services
from workers import supervisor
from workers.conf import sas
from workers.desk.models import Delivery, Incident, Route
from workers.desk.notify import incident_relay, ping
from workers.desk.notify import incident_sender as incident
from workers.desk.notify.incident_sender import EncodedMessage
from workers.desk.store import deliveries, delivery_plans, routes
from workers.models import Alert, Journal
from workers.notify.senders import http_post
from workers.notify.senders.delivery import Answer, Undelivered
from workers.testing import Aftermath, Clock, Wire

WHO = "operator:ann"
#: Whoever died has an end of its lease, of its claim and of its backoff.
LONGER_THAN_ALL = incident_relay.CLAIM_SECONDS + incident_relay.BACKOFF.cap_seconds + 1


def _route(name: str = "mail") -> Route:
    return Route(name=name, kind="mail", address=f"{name}@example.org", time_zone="UTC")


def _failed_and_routes(wire: Wire) -> None:
    _failed(wire)
    for name in ("one", "two"):
        _route(name).save()


def _tell(problem: Callable[[], Undelivered] | None = None) -> Callable[[Wire, Clock], None]:
    """Sweep until everybody is told; the first message fares so, once in all processes."""

    def send(message: EncodedMessage) -> None:
        if problem is not None and is_first("undelivered"):
            raise problem()
        # A receiver knows a repetition by its id.
        services().act(message.id, message.address)

    def run(wire: Wire, clock: Clock) -> None:
        with patch.dict(incident.senders, mail=send):
            for _ in range(3):
                clock.advance(seconds=LONGER_THAN_ALL)
                supervisor.sweep()
                wire.run_until_idle()

    return run


def _told_once_each(after: Aftermath) -> None:
    assert Incident.objects.get().state == "open"
    rows = Delivery.objects.order_by("route__name").values_list("route__name", "event", "state")
    assert list(rows) == [("one", "opened", "delivered"), ("two", "opened", "delivered")]
    told = services().count()
    assert (told["one@example.org"], told["two@example.org"]) == (1, 1)


def _given_up(after: Aftermath) -> None:
    # Refused once and then killed, it is taken the next time: then all is told.
    states = list(Delivery.objects.filter(incident__code="process_error").values_list("state"))
    alerts = list(Alert.objects.filter(code=deliveries.UNDELIVERABLE).values_list("times"))
    if after.crash is not None and not alerts:
        assert states == [("delivered",)] * 2
        return
    assert sorted(states) == [("delivered",), ("failed",)]
    assert alerts == [(1,)]


def _test() -> None:
    if not Delivery.objects.filter(event="test").exclude(state="due").exists():
        incident_relay.test(Route.objects.get().pk, actor=WHO)


def _tested(after: Aftermath) -> None:
    rows = list(Delivery.objects.values_list("event", "state"))
    # Whoever died over it left a test that nobody waits for any more; the relay sends it.
    assert set(rows) == {("test", "delivered")}
    assert len(rows) <= 1 + (after.crash is not None)


def _one_route(wire: Wire) -> None:
    _route().save()


def _set() -> None:
    if not Route.objects.exists():
        routes.save(_route(), actor=WHO)


def _in_journal(event: str, count: int) -> Callable[[Aftermath], None]:
    def check(after: Aftermath) -> None:
        assert Route.objects.count() == count
        written = Journal.objects.filter(event=event, actor=WHO).count()
        assert 1 <= written <= 1 + (after.crash is not None and event == "route_muted")

    return check


def _delete() -> None:
    for route in Route.objects.all():
        routes.delete(route, actor=WHO)


def _mute() -> None:
    routes.mute(Route.objects.get(), None, actor=WHO)


def _gave_up(wire: Wire) -> None:
    _gathered(wire)
    # No other process has failed since.
    Incident.objects.update(last_at=timezone.now() - timedelta(minutes=1))
    _route().save()
    delivery_plans.plan()
    for claimed in deliveries.claim(1, 60):
        deliveries.give_up(claimed, 500, "no")


def _resend() -> None:
    deliveries.resend(Delivery.objects.get().pk, actor=WHO)


def _resent(after: Aftermath) -> None:
    assert Delivery.objects.get().state == "due"


def _put_off() -> None:
    for claimed in deliveries.claim(1, 60):
        deliveries.put_off(claimed, 0)


def _is_due(after: Aftermath) -> None:
    assert Delivery.objects.get().state == "due"


def _planned(wire: Wire) -> None:
    _gathered(wire)
    # No other process has failed since.
    Incident.objects.update(last_at=timezone.now() - timedelta(minutes=1))
    _route().save()
    delivery_plans.plan()


def _sweep_and_ping(wire: Wire, clock: Clock) -> None:
    def post(url: str, *rest: object) -> Answer:
        services().act(f"ping {clock.now}", "ping")
        return Answer(200, "")

    url = "https://ping.example/"
    with patch.object(http_post, "post", post), override_settings(SAS_PING_URL=url):
        for _ in range(2):
            clock.advance(seconds=ping.INTERVAL_SECONDS + sas.lease_seconds)
            supervisor.sweep()
            wire.run_until_idle()


def _pinged(after: Aftermath) -> None:
    # One that died over it makes no second one in the same minute.
    assert services().count()["ping"] >= 2 - (after.crash is not None)


SCENARIOS = [
    Scenario(
        "tell routes",
        lambda: None,
        _told_once_each,
        prepare=_failed_and_routes,
        run=_tell(),
        brief=(
            *("delivery_plans.plan", "deliveries.claim", "deliveries.delivered"),
            "incident_relay.send",
        ),
    ),
    Scenario(
        "tell a route again",
        lambda: None,
        _told_once_each,
        prepare=_failed_and_routes,
        run=_tell(lambda: Undelivered("answered 500")),
        brief=("deliveries.failed",),
    ),
    Scenario(
        "give a route up",
        lambda: None,
        _given_up,
        prepare=_failed_and_routes,
        run=_tell(lambda: Undelivered("answered 410", is_gone=True)),
        brief=("incident_relay.give_up", "deliveries.give_up"),
    ),
    Scenario(
        "test a route",
        _test,
        _tested,
        prepare=_one_route,
        run=_tell(),
        brief=("deliveries.note_test",),
    ),
    Scenario("set a route", _set, _in_journal("route_set", 1), run=nothing),
    Scenario(
        "delete a route", _delete, _in_journal("route_deleted", 0), prepare=_one_route, run=nothing
    ),
    Scenario("mute a route", _mute, _in_journal("route_muted", 1), prepare=_one_route, run=nothing),
    Scenario(
        "resend a delivery",
        _resend,
        _resent,
        prepare=_gave_up,
        run=nothing,
        brief=("deliveries.resend",),
    ),
    Scenario(
        "put a delivery off",
        _put_off,
        _is_due,
        prepare=_planned,
        run=nothing,
        brief=("deliveries.put_off",),
    ),
    Scenario("ping", lambda: None, _pinged, run=_sweep_and_ping, brief=("ping.call",)),
]
