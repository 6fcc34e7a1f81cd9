"""Callbacks and webhooks by ``path("sas/", include("workers.urls"))``, without the shop."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client, override_settings
from django.urls import reverse

from orders.api.problem_types import OF_STATUS
from tests.integration.conftest import only, reread
from tests.receiving.conftest import SECRET
from tests.toyflow import webhooks as provider
from workers.definitions.webhook_provider import Answer
from workers.models import Process, ReceivedWebhook, Step
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


def post(token: str, body: Any, **extra: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    # As a browser's cookies and middleware would have it: no CSRF token, no login.
    return Client(enforce_csrf_checks=True).post(
        f"/sas/callbacks/{token}", raw, content_type="application/json", **extra
    )


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


def test_an_answer_ends_the_step_and_a_repeated_one_does_nothing(
    asked: tuple[Process, str], wire: Wire
) -> None:
    process, token = asked

    assert post(token, {"result": {"paid": True}}).json() == {"outcome": "accepted"}
    assert post(token, {"result": {"paid": False}}).json() == {"outcome": "repeated"}

    wire.run_until_idle()
    assert only(process, "ask").result == {"paid": True}


@pytest.mark.parametrize(("kind", "state"), [("refused", "compensated"), ("permanent", "error")])
def test_a_fault_is_as_the_agent_would_have_raised_it(
    kind: str, state: str, asked: tuple[Process, str], wire: Wire
) -> None:
    process, token = asked
    fault = {"kind": kind, "code": "declined", "message": "no"}

    assert post(token, {"fault": fault}).json() == {"outcome": "accepted"}

    wire.run_until_idle()
    assert reread(process).state == state
    told = only(process, "ask").fault
    assert told is not None
    assert (told["code"], told["message"]) == ("declined", "no")


def test_progress_is_noted(asked: tuple[Process, str]) -> None:
    process, token = asked

    assert post(token, {"progress": {"percent": 40}}).json() == {"outcome": "noted"}

    deferral = only(process, "ask").deferral
    assert deferral is not None
    assert deferral["progress"] == {"percent": 40}


REFUSED: list[tuple[Any, int, str]] = [
    ({}, 422, "exactly one"),
    ({"result": {}, "fault": {"kind": "refused", "code": "x"}}, 422, "exactly one"),
    ({"result": []}, 422, "result"),
    ({"answer": {}}, 422, "answer"),
    ([], 422, "body"),
    (None, 422, "body"),
    ({"fault": {"kind": "unavailable", "code": "x"}}, 422, "fault.kind"),
    ({"fault": {"kind": "refused"}}, 422, "code"),
    ({"fault": {"kind": "refused", "code": ""}}, 422, "fault.code"),
    ({"fault": {"kind": "refused", "code": "a\nb"}}, 422, "fault.code"),
    ({"fault": {"kind": "refused", "code": "x" * 61}}, 422, "fault.code must have 60"),
    ({"fault": {"kind": "refused", "code": "x", "message": "m" * 501}}, 422, "got 501"),
    (b"{", 400, "no JSON"),
    (b"", 400, "no JSON"),
    (b'{"result": {"a": NaN}}', 400, "NaN"),
    (b'{"result": {}, "result": {}}', 400, "given twice"),
    ({"result": {"a": "\x00"}}, 400, "NUL"),
    ({"result": {"a": "x" * 65_536}}, 413, "larger than 65536 bytes"),
]


@pytest.mark.parametrize(("body", "status", "says"), REFUSED, ids=lambda one: str(one)[:40])
def test_what_is_no_answer_changes_nothing(
    asked: tuple[Process, str], body: Any, status: int, says: str
) -> None:
    before = list(Step.objects.values())

    assert says in problem(post(asked[1], body), status)["detail"]

    assert list(Step.objects.values()) == before


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


@pytest.mark.parametrize("spoil", [lambda token: token + "x", lambda token: "x:1:1:" + token[-43:]])
def test_a_token_of_ones_own_making_is_none(
    asked: tuple[Process, str], spoil: Callable[[str], str]
) -> None:
    before = list(Step.objects.values())

    problem(post(spoil(asked[1]), {"result": {}}), 404)

    assert list(Step.objects.values()) == before


def test_where_the_database_is_away_it_may_come_again(
    asked: tuple[Process, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*args: Any, **options: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("workers.store.operate.record_answers.by_key", gone)
    answer = post(asked[1], {"result": {}})

    assert "database is away" in problem(answer, 503)["detail"]
    assert answer["Retry-After"] == "5"


def test_a_project_that_wants_a_login_everywhere_wants_none_here(
    asked: tuple[Process, str], settings: Any
) -> None:
    middleware = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    with override_settings(MIDDLEWARE=middleware):
        assert post(asked[1], {"result": {}}).json() == {"outcome": "accepted"}


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_committed_whatever_the_project_makes_of_requests(
    asked: tuple[Process, str], wire: Wire
) -> None:
    from django.db import connection

    process, token = asked
    connection.settings_dict["ATOMIC_REQUESTS"] = True
    try:
        assert post(token, {"result": {"n": 1}}).json() == {"outcome": "accepted"}
    finally:
        connection.settings_dict["ATOMIC_REQUESTS"] = False
    assert only(process, "ask").result == {"n": 1}


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
