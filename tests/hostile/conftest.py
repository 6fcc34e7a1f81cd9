"""The doors, with rows to count behind them, and what no answer and no log may hold."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection

from orders.models import ApiClient, Product
from tests.api.conftest import Caller
from tests.hostile.corpus import EXECUTED
from tests.hostile.envelopes import INSIDE
from workers.http import ssrf_guard
from workers.supervisor import beat_schedule
from workers.wire import dispatch


@pytest.fixture(autouse=True)
def _nothing_is_executed(monkeypatch) -> Iterator[None]:
    """No nudge's thread is started, and no payload of the corpus leaves its trace."""
    monkeypatch.setattr(dispatch, "wake_scheduler_later", lambda: None)
    yield
    is_there = EXECUTED.exists()
    if is_there:
        EXECUTED.rmdir()
    assert not is_there, "a payload was executed"


@pytest.fixture
def resolver(monkeypatch) -> None:
    """One name leads inside, by one of its addresses; no other is asked of the network."""
    real = ssrf_guard.look_up

    def look_up(host: str, port: int = 0) -> list[str]:
        if host == "inside.example":
            return INSIDE
        if host.endswith("example.org"):
            raise OSError("there is no network here")
        return real(host, port)

    monkeypatch.setattr(ssrf_guard, "look_up", look_up)


@pytest.fixture
def acme(db) -> Caller:
    """A client with a token, and something to order."""
    cache.clear()
    beat_schedule.ensure_flow()
    Product.objects.create(sku="SKU-001", name="Lamp", price="9.50", stock=10_000)
    caller = Caller()
    # The corpus is longer than what a client may send in a minute.
    ApiClient.objects.update(requests_per_minute=1_000_000)
    return caller


@pytest.fixture
def rows(db) -> Callable[[], dict[str, int]]:
    """Count the rows of every table of the shop, of the engine and of the desk."""

    found = ("orders", "workers", "desk")
    models = [model for app in found for model in apps.get_app_config(app).get_models()]
    # One statement: it is asked twice in each of a thousand tests.
    counts = " UNION ALL ".join(
        f"SELECT '{model.__name__}', count(*) FROM {model._meta.db_table}" for model in models
    )

    def count() -> dict[str, int]:
        with connection.cursor() as cursor:
            cursor.execute(counts)
            return dict(cursor.fetchall())

    return count


@pytest.fixture
def quiet(caplog) -> Callable[..., None]:
    """Check that answers and logs tell nothing of the inside, and none of these secrets."""
    caplog.set_level(logging.INFO)

    def check(*said: str, secrets: tuple[str, ...] = ()) -> None:
        # But for Django's own notes of what it could not read, which show the way through it.
        ours = [one for one in caplog.records if getattr(one, "status_code", 0) != 400]
        everything = "\n".join([*said, *map(_line, ours)])
        for word in ("Traceback", "django.db", "psycopg", "sqlite3", "SELECT ", *secrets):
            assert word not in everything
        assert [one for one in ours if one.levelno >= logging.ERROR] == []

    return check


def _line(record: logging.LogRecord) -> str:
    extra: Any = {name: value for name, value in vars(record).items() if name != "request"}
    return f"{record.getMessage()} {extra} {record.exc_text or ''}"
