"""A held-up order's page says that people have been told where they have been, and only there."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from orders.models import Order
from tests.factories import AlertFactory
from tests.on_call.conftest import NOW, incident, route
from tests.shop.conftest import order_with
from tests.shop.test_order_page import page_of, poll, seen_in
from workers.desk.models import Delivery, Incident
from workers.desk.states import DeliveryEvent, DeliveryState

TOLD = "They have been told"
WAITS = "Our staff will look at your order. It is on hold until then."


@pytest.fixture
def order() -> Order:
    return order_with("error", charge_payment={"error": True})


def alert_of(order: Order, **columns: Any) -> Incident:
    row = incident()
    AlertFactory(
        cause="process_error:1", process=order.process, group_id=row.pk, raised_at=NOW, **columns
    )
    return row


def tell(row: Incident, **columns: Any) -> Delivery:
    given = {"event": DeliveryEvent.OPENED, "state": DeliveryState.DELIVERED, **columns}
    return Delivery.objects.create(route=route(), incident=row, at=NOW, next_at=NOW, **given)


def is_said_to_be_told(client: Client, order: Order) -> bool:
    text = page_of(client, order)
    assert (TOLD in text) != (WAITS in text)
    assert ("Our people have been told." in text) == (TOLD in text)
    return TOLD in text


def test_page_does_not_say_staff_were_told_without_a_route(client, order):
    alert_of(order)

    assert not is_said_to_be_told(client, order)


def test_page_says_staff_were_told_once_delivery_arrived(client, order):
    tell(alert_of(order))

    assert is_said_to_be_told(client, order)


@pytest.mark.parametrize(
    "columns",
    [
        {"state": DeliveryState.DUE},
        {"state": DeliveryState.FAILED},
        {"state": DeliveryState.GATHERED},
        {"event": DeliveryEvent.RESOLVED},
        # Before the incident came back.
        {"reopened": 1},
    ],
)
def test_page_ignores_delivery_that_did_not_announce_the_open_incident(client, order, columns):
    tell(alert_of(order), **columns)

    assert not is_said_to_be_told(client, order)


def test_page_says_staff_were_told_once_digest_arrived(client, order):
    row = tell(alert_of(order), state=DeliveryState.GATHERED)
    row.digest = Delivery.objects.create(
        route=row.route,
        event=DeliveryEvent.DIGEST,
        state=DeliveryState.DELIVERED,
        at=NOW,
        next_at=NOW,
    )
    row.save()

    assert is_said_to_be_told(client, order)


def test_page_says_staff_were_told_once_incident_is_assigned(client, order):
    row = alert_of(order)
    Incident.objects.filter(pk=row.pk).update(assignee=User.objects.create_user("ann"))

    assert is_said_to_be_told(client, order)


def test_page_says_staff_were_told_once_alert_is_acknowledged(client, order):
    alert_of(order, acknowledged_by=User.objects.create_user("ann"), acknowledged_at=NOW)

    assert is_said_to_be_told(client, order)


def test_page_does_not_say_staff_were_told_by_resolved_alert(client, order):
    tell(alert_of(order, resolved_at=NOW))

    assert not is_said_to_be_told(client, order)


def test_open_page_learns_by_polling_that_staff_were_told(client, order):
    row = alert_of(order)
    html = client.get(order.get_absolute_url()).content.decode()
    assert poll(client, order, **seen_in(html))[0] == 204

    tell(row)

    assert TOLD in poll(client, order, **seen_in(html))[1]


def test_page_of_ended_order_mentions_no_staff(client, order):
    tell(alert_of(order))
    process = order.process
    type(process).objects.update(
        state="compensated", outcome="compensated", finished_at=timezone.now()
    )

    text = page_of(client, order)

    assert "Taking your payment Did not work" in text
    assert "people" not in text
    assert "Held up" not in text
