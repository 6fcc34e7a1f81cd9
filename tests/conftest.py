"""Fixtures for every test."""

from collections.abc import Iterator

import pytest

from tests.guard.write_guard import every_write_is_named
from tests.toyflow import agents as toy
from workers.testing import Wire, wired


@pytest.fixture(autouse=True)
def wire() -> Iterator[Wire]:
    """No test sends to a broker unless it starts one: messages stay on a wire in memory."""
    toy.script.clear()
    toy.calls.clear()
    toy.undone.clear()
    with wired() as wire:
        yield wire


@pytest.fixture(autouse=True)
def named_writes() -> Iterator[None]:
    """Every test fails in which the product writes outside a failpoint."""
    with every_write_is_named():
        yield
