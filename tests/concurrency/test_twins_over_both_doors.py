"""Fifty submissions of one key at once, half over HTTP and half by the queue: one order.

A client is the same submitter at both doors, so its keys are one space.  Each twin has a
connection of its own; the guard is taken away once, to show that its race would be seen.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from orders import submission, tokens
from orders.consumer.handling import handle
from orders.consumer.message import Message
from orders.models import ApiClient, DeadLetter, Order, OrderLine, Product
from tests.concurrency.racing import race
from workers.models import Journal, Process, Step
from workers.store.submit import submission_keys
from workers.supervisor import beat_schedule
from workers.wire import dispatch

pytestmark = [pytest.mark.django_db(transaction=True)]
BODY: dict[str, Any] = {
    "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [{"sku": "SKU-1", "quantity": 2}],
}
OTHER = BODY | {"reference": "another"}
TWINS = 50


@pytest.fixture
def token(transactional_db, monkeypatch) -> str:
    cache.clear()
    beat_schedule.ensure()
    monkeypatch.setattr(dispatch, "wake_scheduler_later", lambda: None)
    monkeypatch.setattr(dispatch, "wake_agents_later", lambda queue: None)
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)
    client = ApiClient.objects.create(name="acme", created_at=timezone.now())
    return tokens.issue(client)


Twin = Callable[..., Callable[[], tuple[str, int | str, Any]]]


@pytest.fixture
def by_http(token) -> Twin:
    """Return a twin that posts to the API, and tells its status and answer."""

    def twin(body: Any = BODY, key: str = "twin") -> Callable[[], tuple[str, int | str, Any]]:
        def post() -> tuple[str, int | str, Any]:
            answer = Client().post(
                "/api/v1/orders",
                json.dumps(body),
                content_type="application/json",
                headers={"Authorization": f"Bearer {token}", "Idempotency-Key": key},
            )
            return "http", answer.status_code, answer.json()

        return post

    return twin


@pytest.fixture
def by_queue(token) -> Twin:
    """Return a twin that is a message in the consumer's hands."""

    def twin(body: Any = BODY, key: str = "twin") -> Callable[[], tuple[str, int | str, Any]]:
        message = Message(
            json.dumps(body).encode(), {"message_id": key}, {"client": "acme", "token": token}
        )

        def take() -> tuple[str, int | str, Any]:
            handled = handle(message)
            if handled.order is not None:
                return "queue", "order", handled.order.number
            assert handled.letter is not None
            return "queue", "letter", handled.letter.reasons

        return take

    return twin


@pytest.fixture
def nobody_sees_the_first(monkeypatch) -> None:
    """Have no twin find the first order before its own write: all depends on the engine's key."""
    real, looked = submission.first_order, threading.local()

    def first(*args: Any) -> Any:
        if not hasattr(looked, "once"):
            looked.once = True
            return None
        return real(*args)

    monkeypatch.setattr(submission, "first_order", first)


def counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Order, OrderLine, Process, Step))


def test_http_and_queue_share_one_space_of_submission_keys(by_http, by_queue):
    _, status, made = by_http()()
    assert status == 201
    assert by_queue()() == ("queue", "order", made["number"])
    _, said, number = by_queue(key="other")()
    assert said == "order"
    _, status, again = by_http(key="other")()
    assert (status, again["number"]) == (200, number)
    assert Order.objects.count() == 2


@pytest.mark.postgresql
@pytest.mark.usefixtures("nobody_sees_the_first")
def test_fifty_twins_at_once_are_one_order(by_http, by_queue):
    found = race([by_http(), by_queue()] * (TWINS // 2))

    assert [one for one in found if isinstance(one, Exception)] == []
    numbers = {said["number"] if door == "http" else said for door, _, said in found}
    order = Order.objects.get()
    assert numbers == {order.number}
    assert {status for _, status, _ in found} <= {200, 201, "order"}
    assert Counter(status for _, status, _ in found)[201] <= 1
    # Beside it the process that mails its buyer.
    assert counts() == (1, 1, 2, 7)
    assert Journal.objects.filter(event="submitted").count() == 2
    assert not DeadLetter.objects.exists()


@pytest.mark.postgresql
def test_of_twins_with_two_bodies_one_is_refused_by_the_name_of_the_other(by_http, by_queue):
    bodies = [BODY, OTHER] * (TWINS // 4)
    twins = [by_http(body) for body in bodies] + [by_queue(body) for body in bodies]
    found = race(twins)

    assert [one for one in found if isinstance(one, Exception)] == []
    order = Order.objects.get()
    taken, refused = [], []
    for body, (_, status, said) in zip(bodies * 2, found, strict=True):
        (refused if status in (422, "letter") else taken).append((body, said))
    assert len(taken) == len(refused) == len(bodies)
    # Whichever body came first, every twin that has it is that order, and no other is.
    assert len({json.dumps(body) for body, _ in taken}) == 1
    assert not any(body == taken[0][0] for body, _ in refused)
    assert all(f"order {order.number}," in json.dumps(said) for _, said in refused)
    # Beside it the process that mails its buyer.
    assert counts() == (1, 1, 2, 7)
    assert DeadLetter.objects.count() == len(bodies) // 2


@pytest.mark.postgresql
@pytest.mark.usefixtures("nobody_sees_the_first")
def test_without_ids_made_from_keys_twins_would_be_many_orders(by_http, by_queue, monkeypatch):
    monkeypatch.setattr(submission_keys, "last", lambda workflow, requests: (None, {}))
    monkeypatch.setattr(submission_keys, "new_id", lambda *args: uuid4())
    race([by_http(), by_queue()] * (TWINS // 2))
    assert Order.objects.count() > 1
