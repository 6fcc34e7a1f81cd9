"""Clients of the HTTP API, and what they send."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from orders import tokens
from orders.models import ApiClient, Product
from workers.supervisor import beat_schedule

BODY: dict[str, Any] = {
    "customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": "1 Mill Lane"},
    "lines": [{"sku": "SKU-1", "quantity": 2}],
    "reference": "cart-1",
}


class Caller:
    """A program with a token."""

    def __init__(self, name: str = "acme", scopes: tuple[str, ...] = tokens.SCOPES) -> None:
        self.client, _ = ApiClient.objects.get_or_create(
            name=name, defaults={"created_at": timezone.now()}
        )
        self.token = tokens.issue(self.client, scopes=scopes)
        self._http = Client()

    def post(self, path: str, body: Any = None, *, key: str | None = None, **extra: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}", **extra.pop("headers", {})}
        if key is not None:
            headers["Idempotency-Key"] = key
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self._http.post(
            f"/api/v1{path}", raw, content_type="application/json", headers=headers, **extra
        )

    def get(self, path: str, **query: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        return self._http.get(f"/api/v1{path}", query, headers=headers)

    def place(self, key: str = "key-1", **changes: Any) -> Any:
        return self.post("/orders", BODY | changes, key=key)


@pytest.fixture(autouse=True)
def shop(db) -> None:
    cache.clear()
    beat_schedule.ensure_flow()
    Product.objects.create(sku="SKU-1", name="Lamp", price="9.50", stock=100)


@pytest.fixture
def acme() -> Caller:
    return Caller()


@pytest.fixture
def problem() -> Callable[[Any, int], dict[str, Any]]:
    """Check that an answer is a problem document of this status, and return it."""

    def read(answer: Any, status: int) -> dict[str, Any]:
        assert answer.status_code == status, answer.content
        assert answer["Content-Type"] == "application/problem+json"
        body: dict[str, Any] = json.loads(answer.content)
        assert body["status"] == status
        assert body["title"]
        assert body["detail"]
        return body

    return read
