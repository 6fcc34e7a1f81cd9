"""States that an order of today cannot have yet have their words already."""

from dataclasses import replace
from typing import Any

import pytest

from orders import tracking
from orders.models import Order
from orders.tracking import track
from tests.shop.conftest import order_with
from workers.client import progress


def tracked(order: Order, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> tracking.TrackedOrder:
    """Track an order as if its process had the ``changes``."""
    found = replace(progress.snapshot(order.process_id), **changes)
    monkeypatch.setattr(tracking.progress, "snapshot", lambda process_id: found)
    return track(order)


@pytest.mark.parametrize(
    ("state", "words", "headline"),
    [
        (
            "compensating",
            "Being undone",
            "We could not complete your order and are undoing what was done.",
        ),
        ("compensated", "Undone", "We could not complete your order. Everything was undone."),
        ("cancelled", "Cancelled", "Your order was cancelled. Everything was undone."),
        ("processing", "In progress", "We are working on your order."),
    ],
)
def test_every_state_has_a_word_and_a_sentence(monkeypatch, state, words, headline):
    order = order_with(reserve_stock={"processed": True})

    result = tracked(order, monkeypatch, state=state)

    assert (result.state, result.headline) == (words, headline)


def test_a_state_without_words_is_shown_as_it_is(monkeypatch):
    assert tracked(order_with(), monkeypatch, state="frozen").state == "frozen"


def test_the_version_changes_with_what_is_shown_and_not_with_the_clock(monkeypatch):
    order = order_with(charge_payment={"started": True})
    before = progress.snapshot(order.process_id)
    later = tuple(
        replace(step, remaining_seconds=step.remaining_seconds and step.remaining_seconds - 1)
        for step in before.steps
    )
    retried = tuple(replace(step, attempt=step.attempt + 1) for step in before.steps)

    versions = [
        tracked(order, monkeypatch, steps=steps).version for steps in (before.steps, later, retried)
    ]

    assert versions[0] == versions[1]
    assert versions[1] != versions[2]
