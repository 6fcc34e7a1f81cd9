"""A client with a token, a product, and messages as that client sends them."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from orders import tokens
from orders.consumer.message import Message
from orders.models import ApiClient, Product
from tests.acceptance.backends import backends
from tests.acceptance.system import System
from tests.queue_door.door import Door, prepare
from tests.queue_door.sending import BODY
from workers.supervisor import beat_schedule
from workers.wire import dispatch

Make = Callable[..., Message]


@pytest.fixture(autouse=True)
def nudges(monkeypatch) -> list[str]:
    """Every nudge asked for; no thread is started."""
    asked: list[str] = []
    monkeypatch.setattr(dispatch, "wake_agents_later", lambda queue: asked.append("later"))
    return asked


@pytest.fixture
def shop(db) -> None:
    stock()


def stock() -> None:
    cache.clear()
    beat_schedule.ensure_flow()
    Product.objects.create(sku="SKU-001", name="Lamp", price="9.50", stock=10_000)


@pytest.fixture
def acme(shop) -> ApiClient:
    return new_client("acme")


def new_client(name: str) -> ApiClient:
    return ApiClient.objects.create(name=name, created_at=timezone.now())


@pytest.fixture
def token(acme) -> str:
    return tokens.issue(acme)


@pytest.fixture
def make(acme, token) -> Make:
    """Make a message that is good but for what is said; ``None`` leaves a thing out."""

    def made(
        key: Any = "key-1",
        *,
        body: Any = None,
        headers: dict[str, Any] | None = None,
        is_redelivered: bool = False,
        is_user_proven: bool = False,
        unreadable: str = "",
        **properties: Any,
    ) -> Message:
        given = {"client": "acme", "token": token, **(headers or {})}
        if key is not None:
            properties["message_id"] = key
        raw = body if isinstance(body, bytes) else json.dumps(body or BODY).encode()
        return Message(
            raw,
            properties,
            {name: value for name, value in given.items() if value is not None},
            is_redelivered=is_redelivered,
            is_user_proven=is_user_proven,
            unreadable=unreadable,
        )

    return made


@pytest.fixture(scope="module")
def prepared(tmp_path_factory) -> Path:
    """An embedded database with its tables and data: made once, copied for each test."""
    folder = tmp_path_factory.mktemp("prepared")
    file = folder / "db.sqlite3"
    with System(folder, DATABASE_URL=f"sqlite:///{file}", BROKER_URL="") as system:
        prepare(system)
    return file


@pytest.fixture(params=["sqlite+rabbitmq", "postgresql+rabbitmq"])
def door(request, tmp_path, prepared) -> Iterator[Door]:
    with ExitStack() as stack:
        urls = stack.enter_context(backends(request.param, tmp_path))
        system = stack.enter_context(System(tmp_path, **urls, SAS_LOG_LEVEL="INFO"))
        if request.param.startswith("sqlite"):
            shutil.copy(prepared, tmp_path / "db.sqlite3")
        else:
            prepare(system)
        yield Door(system, urls["BROKER_URL"])
