"""A buyer's browser, and what the pages need to be asked for."""

from decimal import Decimal
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client

from orders.agreement import agreement
from orders.models import Order, Product
from tests.factories import OrderFactory, ProcessFactory, ProductFactory, StepFactory
from workers.models import Process

STEPS = ("reserve_stock", "charge_payment", "book_shipment", "issue_invoice", "send_confirmation")


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def _collected_static() -> None:
    """WhiteNoise warns of a missing folder, and warnings are errors here."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture
def product(db) -> Product:
    return ProductFactory(sku="MUG", name="Mug", price="18.50", stock=100)


@pytest.fixture
def buyer(client, product) -> Client:
    """A visitor with two mugs in the basket who has opened the checkout."""
    client.post("/basket/add/", {"sku": "MUG", "quantity": "2"})
    client.get("/checkout/")
    return client


def address(**changes: str) -> dict[str, str]:
    """Return a checkout form, filled in, whose buyer has seen the basket of ``buyer``."""
    return {
        "name": "Ada Lovelace",
        "email": "ada@example.org",
        "address": "12 St James's Square\nLondon",
        "submission_key": str(uuid4()),
        "agreement": agreement([("MUG", 2, Decimal("18.50"))]),
    } | changes


def order_with(state: str = "processing", **steps: dict[str, object]) -> Order:
    """Make an order with a process in ``state`` and all five steps, waiting unless said."""
    process = ProcessFactory(state=state, submission_key="cart-3 shop:ada")
    for position, name in enumerate(STEPS):
        StepFactory(process=process, name=name, position=position, **steps.get(name, {}))
    return OrderFactory(process=process, submitter="shop:ada")


def count_rows() -> tuple[int, int]:
    return Order.objects.count(), Process.objects.filter(workflow="fulfilment").count()
