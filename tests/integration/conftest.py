"""Fixtures of the tests that use the database."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings

from orders.sandbox.server import Sandbox
from tests.concurrency.matrix.pausing import Session, two_sessions
from workers import scheduler
from workers.client.submission import submit
from workers.models import Journal, Process, Step
from workers.store.claims import claim_steps
from workers.supervisor import beat_schedule, sweep
from workers.testing import Wire, pass_time

#: The instant at which every test of the store begins.
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def flow_rows(db: None) -> None:
    """Give every agent its window, as `migrate` would."""
    beat_schedule.ensure_flow()


@pytest.fixture
def toy() -> Callable[..., Process]:
    """Submit a toy workflow at NOW."""

    def make(workflow: str = "toy_line", **input_: Any) -> Process:
        return submit(workflow, subject="Toy 1", input=input_, now=NOW)

    return make


@pytest.fixture
def two(transactional_db: None) -> Iterator[tuple[Session, Session]]:
    """Two sessions of the database, in which verbs may meet (PostgreSQL)."""
    with two_sessions() as pair:
        yield pair


def only(process: Process, name: str) -> Step:
    return Step.objects.get(process=process, name=name)


def start_and_lose(wire: Wire) -> None:
    """Have the present attempt begin, and end without an answer."""
    scheduler.advance()
    wire.deliver_all("workers.run_bundle")
    wire.drop_all()
    pass_time(40)
    sweep()
    wire.drop_all()
    pass_time(400)


def rows() -> list[Any]:
    """Return every process, step and journal row, to show that nothing changed."""
    return [list(model.objects.order_by("pk").values()) for model in (Process, Step, Journal)]


def claim(now: datetime = NOW) -> list[claim_steps.Claim]:
    return claim_steps.claim_due(
        {"toy.alpha", "toy.beta", "toy.gamma", "toy.mailer"}, "scheduler", now
    )


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with (
        Sandbox(tmp_path / "sandbox.sqlite3") as sandbox,
        override_settings(SANDBOX_URL=sandbox.url),
    ):
        yield sandbox
