"""Staff at the admin, orders in many states, and a look at every row at once."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page

from orders import tokens
from orders.models import ApiClient, Order
from tests.browsing import sign_in, watched_page
from tests.factories import AlertFactory, OrderFactory, ProcessFactory, StepFactory
from workers.desk import wake_ups
from workers.desk.admin import actions as verbs
from workers.desk.models import Incident, Note
from workers.models import Alert, Flow, Hold, Journal, Process, Step
from workers.wire import dispatch

STEPS = {
    "reserve_stock": "stock.reserve",
    "charge_payment": "payment.charge",
    "book_shipment": "shipping.book",
}
#: The permissions of the engine's verbs.
VERBS = (
    *dict.fromkeys(verb.permission.removeprefix("workers.") for verb in verbs.VERBS),
    "operate_flow",
    "operate_hold",
)
ACTIONS = ("resubmit_order", "acknowledge_alert", "change_product", *VERBS)


def poll(client: Client, url: str, seen: str = "") -> HttpResponse:
    """Ask as a page does that is open, and shows what ``seen`` stands for."""
    return client.get(url, headers={"HX-Request": "true", "X-Seen": seen})  # type: ignore[return-value]


@pytest.fixture(autouse=True)
def nudges(monkeypatch) -> list[str]:
    """Every nudge asked for; no thread is started."""
    asked: list[str] = []
    monkeypatch.setattr(wake_ups.RUN_JOBS, "later", lambda: asked.append("jobs"))
    monkeypatch.setattr(dispatch, "wake_scheduler_later", lambda: asked.append("later"))
    return asked


@pytest.fixture
def operator(db) -> Client:
    return staff("operator", *ACTIONS)


@pytest.fixture
def viewer(db) -> Client:
    return staff("viewer")


def staff(name: str, *actions: str) -> Client:
    """Return the client of somebody who may see everything, and do what ``actions`` say."""
    user = get_user_model().objects.create_user(name, is_staff=True)
    ours = Permission.objects.filter(content_type__app_label__in=("orders", "workers", "desk"))
    user.user_permissions.add(*ours.filter(codename__startswith="view_"))
    user.user_permissions.add(*ours.filter(codename__in=actions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def visitor(operator) -> Client:
    """Whose page ``page`` is; a module that means somebody else says so."""
    return operator


@pytest.fixture
def page(browser, live_server, visitor) -> Iterator[Page]:
    with watched_page(browser, live_server.url) as page:
        sign_in(page.context, live_server.url, visitor)
        yield page


@pytest.fixture
def acme(db) -> ApiClient:
    """An API client with one token, which may read."""
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    tokens.issue(client, scopes=["read"])
    return client


def order_with(state: str = "processing", *, customer: str = "Ada", **steps: Any) -> Order:
    """Make an order whose process is in ``state``, with three steps, waiting unless said.

    A step is given as a trait of its factory, or as its columns.
    """
    process = ProcessFactory(state=state)
    for position, (name, agent) in enumerate(STEPS.items()):
        given = steps.get(name, {})
        columns = {given: True} if isinstance(given, str) else given
        key = f"{process.uid.hex}:{position}:1"
        after = list(STEPS)[max(0, position - 1) : position]
        made = {"agent": agent, "idempotency_key": key, "after": after, **columns}
        StepFactory(process=process, name=name, position=position, **made)
    order = OrderFactory(process=process, customer_name=customer)
    process.subject = str(order)
    process.save(update_fields=["subject"])
    return order


def order_in_error(**columns: Any) -> Order:
    return order_with("error", reserve_stock="processed", charge_payment={"error": True, **columns})


def note(order: Order, event: str, **columns: Any) -> Journal:
    """Leave a journal row at the end of an order's journal."""
    process = order.process
    columns = {"actor": "scheduler@test", "at": process.created_at, **columns}
    return Journal.objects.create(process=process, event=event, **columns)


def alert_about(order: Order | None = None, message: str = "Look here", **columns: Any) -> Alert:
    process = order.process if order else None
    at = process.created_at if process else ProcessFactory.build().created_at
    columns = {"cause": message[:200], "code": "process_error", **columns}
    return AlertFactory(process=process, message=message, raised_at=at, **columns)


def every_row() -> dict[str, list[dict[str, Any]]]:
    """Return all rows of the state store and the shop's orders, to compare."""
    models = (Process, Step, Journal, Alert, Incident, Note, Order, Flow, Hold, LogEntry)
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}
