"""The page on submitting from a view: its code is run, and what it says of rollbacks holds."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.contrib.messages import get_messages
from django.contrib.messages.storage.fallback import FallbackStorage
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.test import RequestFactory

from orders.models import Order, OrderLine, Product
from tests.factories import ProductFactory
from workers.client.submission import submit
from workers.definitions import registry
from workers.definitions.workflow import Workflow, step
from workers.exceptions import UnknownWorkflow
from workers.models import Journal, Process, Step
from workers.supervisor import beat_schedule
from workers.wire import dispatch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "submit-from-a-django-view.md"
Names = dict[str, Any]


class Quote:
    """Stands in for the page's own model: a group's row is what it writes."""

    pk = 7
    name, email, address = "Ada Lovelace", "ada@example.org", "1 Mill Lane"
    objects: Any
    ordered: list[tuple[str, int]] = [("MUG", 2)]
    #: Raised once the quote is stored, as an application might.
    trouble: Exception | None = None

    @property
    def lines(self) -> Any:
        lines = [SimpleNamespace(sku=sku, quantity=quantity) for sku, quantity in self.ordered]
        return SimpleNamespace(all=lambda: lines)

    def accept(self, order: Order) -> None:
        Group.objects.get_or_create(name=f"quote 7 is order {order.number}")
        if self.trouble is not None:
            raise self.trouble


class Trip:
    """The same for the second example."""

    objects: Any
    pk = 3

    def started_as(self, process: Process) -> None:
        Group.objects.create(name=f"trip 3 is process {process.pk}")


@pytest.fixture(autouse=True)
def nudges(monkeypatch) -> list[str]:
    """Every nudge asked for; no thread is started."""
    asked: list[str] = []
    monkeypatch.setattr(dispatch, "wake_agents_later", lambda queue: asked.append("nudge"))
    return asked


@pytest.fixture
def page(monkeypatch) -> Iterator[Names]:
    for name, model in (("quotes", Quote), ("trips", Trip)):
        module = ModuleType(f"{name}.models")
        setattr(module, model.__name__, model)
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setitem(sys.modules, f"{name}.models", module)
    manager = SimpleNamespace(get=lambda pk: Quote())
    monkeypatch.setattr(
        Quote, "objects", SimpleNamespace(select_for_update=lambda: manager), raising=False
    )
    monkeypatch.setattr(
        Trip, "objects", SimpleNamespace(create=lambda **columns: Trip()), raising=False
    )
    registry.discover()
    before = dict(registry._workflows)
    names: Names = {"__name__": "how_to_submit"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), names)
    names["redirect"] = lambda to, *rest: to
    yield names
    registry._workflows.clear()
    registry._workflows.update(before)


@pytest.fixture
def mug(db) -> Product:
    beat_schedule.ensure_flow()
    product: Product = ProductFactory(sku="MUG", name="Mug", price="18.50", stock=100)
    return product


def press(page: Names) -> tuple[Any, list[str]]:
    """Press the button; return where it leads to, and what the page says."""
    request: HttpRequest = RequestFactory().post("/")
    request.session = {}  # type: ignore[assignment]
    request._messages = FallbackStorage(request)  # type: ignore[attr-defined]
    return page["accept"](request, 7), [str(one) for one in get_messages(request)]


def stored() -> list[int]:
    tables: tuple[Any, ...] = (Order, OrderLine, Process, Step, Journal, Group)
    return [table.objects.count() for table in tables]


NOTHING = [0, 0, 0, 0, 0, 0]


@pytest.mark.django_db
def test_what_is_submitted_and_what_is_written_are_stored_together(page, mug, wire):
    order, said = press(page)
    assert said == []
    assert Group.objects.get().name == f"quote 7 is order {order.number}"
    assert order.process.state == "pending"
    assert [line.quantity for line in order.lines.all()] == [2]


@pytest.mark.django_db
def test_a_second_press_is_the_same_order(page, mug):
    first, _ = press(page)
    before = stored()
    assert press(page)[0] == first
    assert stored() == before


@pytest.mark.django_db
def test_what_is_raised_in_the_block_takes_the_order_along_and_frees_the_key(
    page, mug, monkeypatch
):
    monkeypatch.setattr(Quote, "trouble", IntegrityError("of the application"))
    with pytest.raises(IntegrityError):
        press(page)
    assert stored() == NOTHING

    monkeypatch.setattr(Quote, "trouble", None)
    monkeypatch.setattr(Quote, "ordered", [("MUG", 3)])
    order, _ = press(page)
    assert [line.quantity for line in order.lines.all()] == [3]


@pytest.mark.django_db
def test_a_refusal_names_the_field_and_stores_nothing(page, mug, monkeypatch):
    monkeypatch.setattr(Quote, "ordered", [("MUG", 101)])
    where, said = press(page)
    assert where == "quote"
    assert said == ["lines.0.quantity: Only 100 of Mug are left. Lower the quantity."]
    assert stored() == NOTHING


@pytest.mark.django_db
def test_a_refusal_caught_inside_leaves_your_own_writes(page, mug, monkeypatch):
    with transaction.atomic():
        Group.objects.create(name="mine")
        with pytest.raises(page["SubmissionRefused"]):
            page["place_order"](
                page["Customer"]("Ada", "ada@example.org", "1 Mill Lane"),
                [page["Line"]("MUG", 101)],
                submission_key="k",
                source="shop",
            )
        Group.objects.create(name="mine, too")
    assert stored() == [0, 0, 0, 0, 0, 2]


@pytest.mark.django_db
def test_other_content_under_the_same_key_is_the_first_order_and_is_said(page, mug, monkeypatch):
    first, _ = press(page)
    before = stored()
    monkeypatch.setattr(Quote, "ordered", [("MUG", 3)])
    where, said = press(page)
    assert where == first
    assert said == [f"This quote became order {first.number} as it was then."]
    assert stored() == before


@pytest.mark.django_db(transaction=True)
def test_the_nudge_follows_the_commit_and_never_a_rollback(page, mug, nudges, monkeypatch):
    with transaction.atomic():
        press(page)
        assert nudges == []
    asked = list(nudges)
    assert set(asked) == {"nudge"}

    monkeypatch.setattr(Quote, "pk", 8)
    monkeypatch.setattr(Quote, "trouble", IntegrityError("of the application"))
    with pytest.raises(IntegrityError):
        press(page)
    assert nudges == asked


@pytest.mark.django_db
def test_the_trip_and_its_process_are_stored_together(page, wire):
    registry.register_workflow(Workflow("trip", 1, (step("flight", "toy.alpha"),)))
    beat_schedule.ensure_flow()
    process = page["book"]("ann", "310.00")
    assert Group.objects.get().name == f"trip 3 is process {process.pk}"
    assert (process.lane, process.input) == ("ann", {"trip": 3, "amount": "310.00"})


@pytest.mark.django_db
def test_what_cannot_be_submitted_stores_nothing(page):
    with pytest.raises(UnknownWorkflow):
        page["book"]("ann", "310.00")
    registry.register_workflow(Workflow("trip", 1, (step("flight", "toy.alpha"),)))
    with pytest.raises(TypeError), transaction.atomic():
        page["submit"]("trip", subject="Trip", input={"amount": object()})
    with pytest.raises(ValueError, match="priority must be 0 to 100, got -1"):
        page["submit"]("trip", subject="Trip", input={}, priority=-1)
    assert stored() == NOTHING


@pytest.mark.django_db
def test_the_trip_is_told_what_became_of_its_process(page, wire, monkeypatch):
    monkeypatch.setattr(dispatch, "wake_agents_later", dispatch.wake_agents)
    ended: list[tuple[int, str]] = []
    rows = SimpleNamespace(
        filter=lambda process_id: SimpleNamespace(
            update=lambda state: ended.append((process_id, state))
        )
    )
    monkeypatch.setattr(Trip, "objects", rows)
    registry.register_workflow(
        Workflow("trip", 1, (step("pay", "toy.alpha"),), on_end=page["trip_ended"])
    )

    beat_schedule.ensure_flow()
    process = submit("trip", subject="Trip 3", input={})
    wire.run_until_idle()

    assert ended == [(process.pk, "processed")]
