"""Valid rows made directly with the ORM, in whatever state a test begins with."""

from dataclasses import asdict, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import factory
from django.db.models import QuerySet
from django.utils import timezone

from orders.models import Order, OrderLine, Product
from orders.submission import Customer, Line, place_order
from workers.models import Alert, Process, Sink, Spec, Step, spec
from workers.models.spec import COLUMNS as SPEC_COLUMNS
from workers.specs import SpecRow

now = factory.LazyFunction(timezone.now)


class ProductFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Product

    sku = factory.Sequence("TEST-{:03}".format)
    name = factory.Sequence("Thing {}".format)
    description = "A thing to test with."
    price = Decimal("18.50")
    stock = 100


class ProcessFactory(factory.django.DjangoModelFactory):
    """A process; processed ones are finished, as the table demands."""

    class Meta:
        model = Process

    workflow = "fulfilment"
    version = 1
    subject = factory.Sequence("Order {}".format)
    state = "processing"
    created_at = now
    finished_at = factory.Maybe(
        factory.LazyAttribute(lambda process: process.state == "processed"), now, None
    )


class StepFactory(factory.django.DjangoModelFactory):
    """A waiting step; a trait puts it into another state with all that belongs to it."""

    class Meta:
        model = Step

    process = factory.SubFactory(ProcessFactory)
    name = factory.Sequence("step_{}".format)
    position = factory.Sequence(int)
    agent = "payment.charge"
    timeout_seconds = 30
    failure_threshold = 3
    idempotency_key = factory.LazyAttribute(lambda s: f"{s.process.uid.hex}:{s.position}:1")

    class Params:
        pending = factory.Trait(state="pending", not_before=now)
        started = factory.Trait(
            state="processing",
            attempt=1,
            claim_id=factory.LazyFunction(uuid4),
            delivery=factory.LazyFunction(uuid4),
            locked_by="worker@test",
            started_at=now,
            complete_by=factory.LazyAttribute(
                lambda step: step.started_at + timedelta(seconds=step.timeout_seconds)
            ),
            may_have_effect=True,
        )
        processed = factory.Trait(state="processed", attempt=1, result={}, finished_at=now)
        error = factory.Trait(
            state="error",
            attempt=3,
            failure_count=3,
            fault={"kind": "transient", "code": "http_500", "message": "answered 500"},
        )
        skipped = factory.Trait(state="skipped", finished_at=now)

    @classmethod
    def _adjust_kwargs(cls, **columns: Any) -> dict[str, Any]:
        shared, own = apart(columns)
        return {"spec_digest": a_spec(**shared), **own}


def apart(columns: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a step shares with others, and its own columns."""
    shared = {name: value for name, value in columns.items() if name in SPEC_COLUMNS}
    return shared, {name: value for name, value in columns.items() if name not in shared}


def a_spec(**values: Any) -> int:
    """Write a spec and return its digest."""
    return _written(SpecRow(**values))


def _written(spec: SpecRow) -> int:
    Spec.objects.get_or_create(digest=spec.digest, defaults=asdict(spec))
    return spec.digest


def step_in_memory(**columns: Any) -> Step:
    """Return a step that no database has, and so no test needs one."""
    shared, own = apart(columns)
    spec_row = SpecRow(**shared)
    spec._known[spec_row.digest] = spec_row
    return Step(spec_digest=spec_row.digest, **own)


def put(steps: QuerySet[Step], **columns: Any) -> None:
    """Update steps, also in what they share with others: each then has a spec of its own."""
    shared, own = apart(columns)
    for step in steps:
        digest = _written(replace(step.spec, **shared))
        Step.objects.filter(pk=step.pk).update(**own, spec_digest=digest)


class AlertFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Alert

    code = "process_error"
    cause = factory.Sequence("cause {}".format)
    raised_at = now
    last_raised_at = factory.SelfAttribute("raised_at")


class SinkFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Sink

    process = factory.SubFactory(ProcessFactory)
    kind = "queue"
    address = "replies.acme.one"
    next_try_at = now


class OrderFactory(factory.django.DjangoModelFactory):
    """An order of one line, with a process that has no steps yet."""

    class Meta:
        model = Order
        skip_postgeneration_save = True

    class Params:
        submission_key = factory.LazyFunction(lambda: str(uuid4()))

    process = factory.SubFactory(
        ProcessFactory, submission_key=factory.SelfAttribute("..submission_key")
    )
    source = Order.Source.SHOP
    body_hash = "0" * 64
    customer_name = "Ada Lovelace"
    customer_email = "ada@example.org"
    customer_address = "12 St James's Square\nLondon"
    total = Decimal("37.00")
    created_at = now
    line = factory.RelatedFactory("tests.factories.OrderLineFactory", "order")


class OrderLineFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = OrderLine

    order = factory.SubFactory(OrderFactory, line=None)
    product = factory.SubFactory(ProductFactory)
    sku = factory.SelfAttribute("product.sku")
    name = factory.SelfAttribute("product.name")
    quantity = 2
    unit_price = factory.SelfAttribute("product.price")


def placed(
    quantity: int = 1, sku: str = "SKU-1", key: str = "key-1", source: str = "shop", **more: str
) -> Order:
    """Return an order that Ann has placed of a product that is there."""
    ann = Customer("Ann", "ann@example.org", "Street 1")
    return place_order(ann, [Line(sku, quantity)], submission_key=key, source=source, **more)[0]
