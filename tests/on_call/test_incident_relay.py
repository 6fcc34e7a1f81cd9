"""Routes are told at least once, in order, in bounded tries, and hold each other up in nothing."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import override_settings

from tests.factories import AlertFactory
from tests.on_call.conftest import NOW, events, incident, resolve, route, rows
from workers import supervisor
from workers.desk.models import Delivery
from workers.desk.notify import incident_relay
from workers.desk.notify import incident_sender as senders
from workers.desk.notify.incident_relay import IncidentRelay
from workers.desk.notify.incident_sender import EncodedMessage
from workers.desk.store import deliveries
from workers.desk.store.delivery_plans import plan
from workers.models import Alert
from workers.notify.senders.delivery import Answer, Undelivered

ANSWERED_500 = {"code": "answered", "params": {"status": 500}}


def answers(monkeypatch: pytest.MonkeyPatch, kind: str, outcome: Any) -> list[EncodedMessage]:
    """Have a kind of route answer so; return what it is sent."""
    sent: list[EncodedMessage] = []

    def send(message: EncodedMessage) -> Any:
        sent.append(message)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setitem(senders.senders, kind, send)
    return sent


def test_every_route_gets_its_message(wire, clock):
    route("a")
    route("b", "webhook")
    incident()
    plan()

    assert IncidentRelay().run() == 2
    assert IncidentRelay().run() == 0

    first, second = sorted(wire.told_of_incidents, key=lambda message: message.kind)
    assert (first.address, second.address) == ("ops@example.org", "https://hooks.example/secret")
    assert {row["state"] for row in rows()} == {"delivered"}
    assert {row["ended_at"] for row in rows()} == {NOW}


def test_the_sweep_notes_it_and_asks_for_a_relay(wire, clock):
    route()
    incident()

    supervisor.sweep()
    wire.run_until_idle()

    # Nothing was raised: the sweep also finds that no member is left.
    assert [message.kind for message in wire.told_of_incidents] == []
    AlertFactory(
        cause="duty_overdue:poll", code="duty_overdue", message="The poll is overdue", raised_at=NOW
    )
    supervisor.sweep()
    wire.run_until_idle()
    assert [message.subject for message in wire.told_of_incidents] == [
        "New incident: Periodic duties are late: poll"
    ]


def test_an_answer_is_kept_in_its_beginning(wire, clock, monkeypatch):
    route("a", "slack")
    incident()
    plan()
    answers(monkeypatch, "slack", Answer(200, "ok"))
    IncidentRelay().run()
    (row,) = rows()
    assert (row["state"], row["answer_status"], row["answer"]) == ("delivered", 200, "ok")


def test_a_failed_one_is_tried_again_later_under_the_same_id(wire, clock, monkeypatch):
    route("a", "slack")
    incident()
    plan()
    sent = answers(
        monkeypatch, "slack", Undelivered("answered", status=500, answer=Answer(500, "oops"))
    )

    IncidentRelay().run()

    (row,) = rows()
    assert (row["state"], row["tries"], row["answer_status"]) == ("due", 1, 500)
    assert (row["problem"], row["answer"]) == (ANSWERED_500, "oops")
    assert row["next_at"] == NOW + timedelta(seconds=5)
    IncidentRelay().run()
    assert len(sent) == 1
    clock.advance(seconds=6)
    IncidentRelay().run()
    assert len({message.id for message in sent}) == 1
    assert len(sent) == 2


def test_it_waits_as_long_as_it_is_asked_to(wire, clock, monkeypatch):
    route("a", "slack")
    incident()
    plan()
    answers(monkeypatch, "slack", Undelivered("answered 429", retry_after=90))
    IncidentRelay().run()
    assert rows()[0]["next_at"] == NOW + timedelta(seconds=90)


@pytest.mark.parametrize(
    ("problem", "tries"), [(Undelivered("no"), 3), (Undelivered("answered 410", is_gone=True), 1)]
)
def test_it_is_given_up_in_the_end_and_the_others_are_told(
    wire, clock, monkeypatch, problem, tries
):
    dead, other = route("dead", "slack"), route("other")
    incident()
    plan()
    sent = answers(monkeypatch, "slack", problem)
    with override_settings(SAS_REPORT_TRIES=3):
        for _ in range(6):
            IncidentRelay().run()
            clock.advance(seconds=400)

    assert len(sent) == tries
    row = Delivery.objects.get(route=dead)
    assert (row.state, row.tries, row.ended_at is not None) == ("failed", tries, True)
    alert = Alert.objects.get()
    assert (alert.code, alert.cause) == (
        deliveries.UNDELIVERABLE,
        f"{deliveries.UNDELIVERABLE}:{dead.pk}",
    )
    supervisor.sweep()
    assert events(other).count("opened") == 2
    assert events(dead).count("opened") == 1

    monkeypatch.undo()
    assert deliveries.resend(row.pk, actor="operator:ann")
    assert not deliveries.resend(row.pk, actor="operator:ann")
    IncidentRelay().run()
    alert.refresh_from_db()
    assert alert.resolved_at is not None


def test_the_end_does_not_overtake_the_beginning(wire, clock, monkeypatch):
    route("a", "pagerduty")
    one = incident()
    plan()
    with monkeypatch.context() as patch:
        answers(patch, "pagerduty", Undelivered("no"))
        IncidentRelay().run()
    resolve(one)
    plan()

    assert IncidentRelay().run() == 0, "the first is not due again yet"
    clock.advance(seconds=6)
    assert IncidentRelay().run() == 2
    assert [b'"trigger"' in message.body for message in wire.told_of_incidents] == [True, False]


def test_a_route_that_hangs_holds_up_no_other(wire, clock, monkeypatch):
    route("dead", "slack")
    route("other")
    for number in range(10):
        incident(f"key-{number}")
    plan()
    others, lock = threading.Event(), threading.Lock()
    under_way: list[int] = [0, 0]

    def hang(message: EncodedMessage) -> None:
        with lock:
            under_way[0] += 1
            under_way[1] = max(under_way)
        others.wait(20)
        with lock:
            under_way[0] -= 1
        raise Undelivered("no answer in time", is_away=True)

    def tell(message: EncodedMessage) -> None:
        wire.told_of_incidents.append(message)
        if len(wire.told_of_incidents) == 10:
            others.set()

    monkeypatch.setitem(senders.senders, "slack", hang)
    monkeypatch.setitem(senders.senders, "mail", tell)
    IncidentRelay().run()

    assert others.is_set(), "all the others were told while the dead one hung"
    assert under_way[1] == IncidentRelay.per_route


def test_a_relay_that_dies_after_sending_sends_the_same_again(wire, clock, monkeypatch):
    route()
    incident()
    plan()
    (claimed,) = deliveries.claim(10, 60)
    assert deliveries.claim(10, 60) == []

    clock.advance(seconds=61)
    assert IncidentRelay().run() == 1
    assert deliveries.delivered(claimed, None, "") is False
    deliveries.failed(claimed, 5, 500, "late")
    deliveries.put_off(claimed, 5)
    assert deliveries.give_up(claimed, 500, "late") is False
    assert [row["state"] for row in rows()] == ["delivered"]


def test_a_relay_that_froze_changes_nothing_of_what_another_sends(clock):
    route()
    incident()
    plan()
    (frozen,) = deliveries.claim(10, 60)
    clock.advance(seconds=61)
    (held,) = deliveries.claim(10, 60)
    before = rows()

    assert deliveries.give_up(frozen, 500, "late") is False
    assert deliveries.delivered(frozen, None, "") is False
    deliveries.failed(frozen, 5, 500, "late")
    deliveries.put_off(frozen, 5)

    assert rows() == before
    assert deliveries.delivered(held, 200, "ok")


@pytest.mark.parametrize(
    "columns", [{"is_active": False}, {"muted_until": NOW + timedelta(days=1)}]
)
def test_a_route_that_is_off_or_muted_is_sent_nothing(wire, clock, columns):
    mail = route()
    incident()
    plan()
    for name, value in columns.items():
        setattr(mail, name, value)
    mail.save()
    assert deliveries.seconds_waiting() is None
    assert IncidentRelay().run() == 0
    assert rows()[0]["state"] == "due"


def test_a_test_is_sent_at_once_and_once(wire, clock, monkeypatch):
    chat = route("a", "slack", is_active=False)
    answers(monkeypatch, "slack", Answer(200, "ok"))
    assert incident_relay.test(chat.pk, actor="operator:ann") is True
    answers(
        monkeypatch, "slack", Undelivered("answered", status=404, answer=Answer(404, "no_team"))
    )
    assert incident_relay.test(chat.pk, actor="operator:ann") is False
    clock.advance(seconds=4000)
    assert IncidentRelay().run() == 0
    assert [(row["event"], row["state"], row["answer"]) for row in rows()] == [
        ("test", "delivered", "ok"),
        ("test", "failed", "no_team"),
    ]
    assert not Alert.objects.exists()


def test_a_mail_is_plain_text_in_the_route_s_language_and_time(wire, clock, monkeypatch):
    route(address="a@example.org, b@example.org", time_zone="Asia/Tokyo")
    incident(params={"step": "charge", "workflow": "shop", "message": "no\nBcc: x@example.org"})
    monkeypatch.setitem(senders.senders, "mail", senders.mail)
    plan()
    with override_settings(SAS_ADMIN_URL="https://shop.example/admin/"):
        assert IncidentRelay().run() == 1
    (message,) = outbox.outbox
    assert message.to == ["a@example.org", "b@example.org"]
    assert message.subject == r"New incident: charge of shop fails for good: no\nBcc: x@example.org"
    assert "JST" in message.body
    assert "https://shop.example/admin/desk/incident/" in message.body
    assert "What to do: Fix the cause" in message.body
