"""Doors by ``path("sas/", include("workers.urls"))``, without the shop; answers: test_callbacks."""

import json
import time
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from orders.api.problem_types import OF_STATUS
from tests.integration.conftest import only
from tests.receiving.conftest import SECRET
from tests.toyflow import webhooks as provider
from workers.definitions.webhook_provider import Answer
from workers.models import Process, ReceivedWebhook
from workers.protocol.webhook_signing import signature
from workers.testing import Wire
from workers.views.problems import CODES

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.views.urls")]
PAID = b'{"type":"payment.settled","amount":"18.50"}'


@pytest.fixture(autouse=True)
def providers() -> Any:
    cache.clear()
    provider.script.clear()
    provider.secrets.update({"toy-pay": [SECRET]})
    yield
    provider.script.clear()
    provider.secrets.clear()


def send(raw: bytes = PAID, to: str = "toy-pay", id: str = "msg_1", secret: str = SECRET) -> Any:
    seconds = int(time.time())
    headers = {
        "webhook-id": id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": signature((secret,), id, seconds, raw),
    }
    return Client(enforce_csrf_checks=True).post(
        f"/sas/webhooks/{to}", raw, content_type="application/json", headers=headers
    )


def problem(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert "no-store" in answer["Cache-Control"]
    document: dict[str, Any] = json.loads(answer.content)
    assert (document["type"], document["status"]) == ("about:blank", status)
    assert document["code"] == CODES[status]
    assert document["title"]
    assert document["detail"]
    assert document["instance"].startswith("urn:uuid:")
    return document


def test_the_addresses_have_names() -> None:
    assert reverse("workers:callback", args=["x:y"]) == "/sas/callbacks/x:y"
    assert reverse("workers:webhook", args=["bank"]) == "/sas/webhooks/bank"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Encoding": "gzip"}, 415),
        ({"Content-Length": "", "Transfer-Encoding": "chunked"}, 411),
        ({"Content-Length": "9" * 5000}, 413),
        ({"Content-Length": "-1"}, 400),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", ["/sas/callbacks/x", "/sas/webhooks/toy-pay"])
def test_a_body_that_is_not_to_be_read_is_not(
    path: str, headers: dict[str, str], status: int
) -> None:
    problem(Client().post(path, b"{}", content_type="application/json", headers=headers), status)


@pytest.mark.parametrize("method", ["get", "put", "delete", "head", "options"])
def test_other_methods_are_refused(method: str) -> None:
    answer = getattr(Client(), method)("/sas/callbacks/x")

    assert (answer.status_code, answer["Allow"]) == (405, "POST")


def test_where_the_database_is_away_it_may_come_again(
    asked: tuple[Process, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: Any, **options: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("workers.store.operate.record_answers.by_key", gone)
    answer = Client().post(f"/sas/callbacks/{asked[1]}", {"result": {}}, "application/json")

    assert "database is away" in problem(answer, 503)["detail"]
    assert answer["Retry-After"] == "5"


def test_a_webhook_answers_the_step_of_its_provider_once(
    asked: tuple[Process, str], wire: Wire
) -> None:
    process, _ = asked
    provider.script["answers"] = lambda event: Answer(process.pk, "ask", event.body)

    assert send().json() == {"outcome": "accepted"}
    assert send().json() == {"outcome": "repeated"}

    wire.run_until_idle()
    assert only(process, "ask").result == {"type": "payment.settled", "amount": "18.50"}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"to": "nobody"}, 404),
        ({"secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"}, 401),
        ({"raw": b"{"}, 400),
        ({"raw": b"[]"}, 422),
        ({"raw": b'{"a": "' + b"x" * 1_048_576 + b'"}'}, 413),
    ],
    ids=str,
)
def test_a_webhook_that_is_refused_leaves_no_trace(sent: dict[str, Any], status: int) -> None:
    problem(send(**sent), status)

    assert not ReceivedWebhook.objects.exists()


def test_a_provider_has_its_minute(asked: tuple[Process, str]) -> None:
    provider.script["answers"] = lambda event: None
    # Of 41 in less than a minute, more than 20 stand in one minute of the clock.
    refused = [answer for n in range(41) if (answer := send(id=f"msg_{n}")).status_code == 429]

    assert "Wait" in problem(refused[0], 429)["detail"]
    assert 1 <= int(refused[0]["Retry-After"]) <= 60


def test_the_codes_are_those_of_the_shop() -> None:
    assert {status: OF_STATUS[status].code for status in CODES} == CODES
