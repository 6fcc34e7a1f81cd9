"""Fixtures for every test."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import HealthCheck, settings
from msgspec.structs import replace
from playwright.sync_api import Browser

from orders import later
from orders.sandbox.server import Sandbox
from tests import emptying
from tests.browsing import launched
from tests.concurrency.matrix.pausing import Session, two_sessions
from tests.guard.write_guard import every_write_is_named
from tests.services import own_rabbitmq_vhost
from tests.toyflow import agents as toy
from workers import Call, Deferred, submit
from workers.models import Process
from workers.store.claims import request_data
from workers.store.claims.claim_steps import Claim
from workers.supervisor import beat_schedule
from workers.testing import Clock, Wire, frozen_clock, wired

# How busy the machine is says nothing of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

TESTS = Path(__file__).parent
#: The folders in which a test has a database without asking for it.
WITH_A_DATABASE = {
    *("admin", "api", "integration", "on_call", "receiving", "reporting", "shop", "testing_kit")
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        is_there = item.path.relative_to(TESTS).parts[0] in WITH_A_DATABASE
        # What a test says itself, say of its transactions, goes first.
        if is_there and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what makes sense on another database only."""
    for vendor in ("postgresql", "sqlite"):
        if item.get_closest_marker(vendor) and connection.vendor != vendor:
            pytest.skip(f"makes sense on {vendor} only, and DATABASE_URL is {connection.vendor}")


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker) -> None:
    """Make the test database, and on PostgreSQL a cheap one."""
    if connection.vendor == "postgresql":
        with django_db_blocker.unblock():
            emptying.make_cheap()


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


@pytest.fixture(autouse=True)
def nothing_is_later(monkeypatch) -> None:
    """What a web process does after its answer is done at once, in the test's own transaction."""
    monkeypatch.setattr(later, "put", lambda name, do: do())


@pytest.fixture(autouse=True)
def longest_backoffs(monkeypatch) -> None:
    """Have no backoff be over before a test says so: the shortest of a full jitter is none."""
    longest = SimpleNamespace(uniform=lambda low, high: high)
    monkeypatch.setattr("workers.rules.backoff.random", longest)


@pytest.fixture
def same_material(monkeypatch) -> Iterator[None]:
    """What claims bring along is what a reading gives, to the order of names, in all of a test.

    A repeated attempt reads it, and must send the same.
    """
    seen: list[str] = []
    real = request_data.material

    def material(taken: Sequence[Claim]) -> request_data.Material:
        found = real(taken)
        anew = real([replace(claim, owner=None) for claim in taken])
        assert repr(sorted(found.contexts.items())) == repr(sorted(anew.contexts.items()))
        seen.extend(name for context in found.contexts.values() for name in context.results)
        return found

    monkeypatch.setattr(request_data, "material", material)
    yield
    assert seen, "no claim brought a result along"


@pytest.fixture
def asked(db, wire) -> tuple[Process, str]:
    """A process that waits for an answer, and the token to answer with."""
    beat_schedule.ensure_flow()
    tokens: list[str] = []

    def defer(call: Call) -> Deferred:
        tokens.append(call.callback_token)
        return Deferred(within_seconds=60)

    toy.script["toy.alpha"] = defer
    process = submit("toy_answered", subject="Toy 1", input={})
    wire.run_until_idle()
    return process, tokens[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def vhost() -> Iterator[str]:
    """The URL of a RabbitMQ vhost of the module's own."""
    with own_rabbitmq_vhost() as url:
        yield url


@pytest.fixture
def clock(request) -> Iterator[Clock]:
    """A clock that stands still, at its module's NOW if there is one."""
    with frozen_clock(getattr(request.module, "NOW", None)) as clock:
        yield clock


@pytest.fixture
def sandbox(tmp_path) -> Iterator[Sandbox]:
    with (
        Sandbox(tmp_path / "sandbox.sqlite3") as sandbox,
        override_settings(SANDBOX_URL=sandbox.url),
    ):
        yield sandbox


@pytest.fixture
def two(transactional_db) -> Iterator[tuple[Session, Session]]:
    """Two sessions of the database, in which verbs may meet (PostgreSQL)."""
    with two_sessions() as pair:
        yield pair
