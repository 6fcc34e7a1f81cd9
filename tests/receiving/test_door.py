"""Webhooks at the shop's door and at the engine's own: what is taken, and what leaves no trace."""

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError
from django.test import Client

from tests.alerts import text_of
from tests.api.conftest import problem as problem  # noqa: PLC0414 (a fixture)
from tests.integration.conftest import only
from tests.receiving.conftest import OTHER, SECRET, STRIPE
from tests.receiving.test_taking import everything
from tests.toyflow import webhooks as provider
from workers.exceptions import WebhookRefused
from workers.models import Alert, Process, ReceivedWebhook
from workers.protocol.webhook_signing import signature

Problem = Callable[[Any, int], dict[str, Any]]
STRANGE = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
PAID = b'{"type":"payment.settled","amount":"18.50"}'
DOOR = "/api/v1"


@pytest.fixture(autouse=True, params=["/api/v1", "/sas"])
def door(request, settings, monkeypatch) -> None:
    """Have ``post`` go to one of the doors."""
    monkeypatch.setattr("tests.receiving.test_door.DOOR", request.param)
    if request.param == "/sas":
        settings.ROOT_URLCONF = "tests.views.urls"


def post(
    raw: bytes = PAID,
    *,
    to: str = "toy-pay",
    id: str = "msg_1",
    by: tuple[str, ...] = (SECRET,),
    at: float = 0,
    **headers: str,
) -> Any:
    seconds = int(time.time() + at)
    signed = {
        "webhook-id": id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": signature(by, id, seconds, raw),
    }
    return Client(enforce_csrf_checks=True).post(
        f"{DOOR}/webhooks/{to}", raw, content_type="application/json", headers=signed | headers
    )


def test_webhook_ends_step_and_its_repeat_is_answered_as_repeated(waiting, wire):
    first, second = post(), post()
    assert (first.status_code, first.json()) == (200, {"outcome": "accepted"})
    assert (second.status_code, second.json()) == (200, {"outcome": "repeated"})
    wire.run_until_idle()
    assert only(waiting, "ask").result == {"type": "payment.settled", "amount": "18.50"}
    assert wire.states(waiting)["then"] == "processed"


def test_the_raw_body_counts_however_it_is_written(waiting):
    raw = b'{ "amount" :\n "18.50", "name": "M\xc3\xbcller" }\n'
    assert post(raw).json() == {"outcome": "accepted"}
    assert only(waiting, "ask").result == {"amount": "18.50", "name": "Müller"}


def test_webhook_passes_with_old_or_new_secret_until_old_is_removed(waiting):
    provider.secrets["toy-pay"] = [OTHER, SECRET]
    assert post(id="msg_1").json() == {"outcome": "accepted"}
    assert post(id="msg_2", by=(OTHER,)).status_code == 200
    assert post(id="msg_3", by=(STRANGE, OTHER)).status_code == 200
    provider.secrets["toy-pay"] = [OTHER]
    assert post(id="msg_4").status_code == 401


def test_stripe_s_scheme_takes_the_id_from_the_body(waiting):
    def send(body: dict[str, Any]) -> Any:
        raw, seconds = json.dumps(body).encode(), int(time.time())
        mac = hmac.new(STRIPE.encode(), f"{seconds}.".encode() + raw, hashlib.sha256).hexdigest()
        return Client().post(
            f"{DOOR}/webhooks/toy-bank",
            raw,
            content_type="application/json",
            headers={"Stripe-Signature": f"t={seconds},v1={mac}"},
        )

    assert send({"id": "evt_1", "amount": 1850}).json() == {"outcome": "accepted"}
    assert send({"id": "evt_1", "amount": 1850}).json() == {"outcome": "repeated"}
    assert ReceivedWebhook.objects.get().message_id == "evt_1"
    assert send({"amount": 1850}).status_code == 422
    assert send({"id": 7}).status_code == 422


def too_large() -> bytes:
    return json.dumps({"a": "x" * provider.PAY.max_bytes}).encode()


@pytest.mark.parametrize(
    ("sent", "status", "said"),
    [
        ({"to": "nobody"}, 404, "no provider of webhooks"),
        ({"to": "Toy-Pay"}, 404, "no provider of webhooks"),
        ({"by": (OTHER,)}, 401, "webhook-signature has no signature of this body"),
        ({"webhook-signature": "v1,AAAA"}, 401, "webhook-signature has no signature"),
        ({"webhook-id": ""}, 401, "webhook-id must be"),
        ({"webhook-timestamp": "now"}, 401, "webhook-timestamp must be"),
        ({"at": -302}, 401, "webhook-timestamp is more than 300 s"),
        ({"at": 302}, 401, "webhook-timestamp is more than 300 s"),
        ({"to": "toy-bank"}, 401, "t of Stripe-Signature must be"),
        ({"raw": too_large()}, 413, "larger than 1048576 bytes"),
        ({"raw": b"{"}, 400, "it is no JSON"),
        ({"raw": b""}, 400, "it is no JSON"),
        ({"raw": b'{"amount": NaN}'}, 400, "NaN is not allowed"),
        ({"raw": b'{"amount": 1, "amount": 2}'}, 400, "'amount' is given twice"),
        ({"raw": b"\xff"}, 400, "it is not UTF-8"),
        ({"raw": b"[]"}, 422, "must be a JSON object"),
        ({"raw": b"null"}, 422, "must be a JSON object"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_what_is_refused_leaves_no_trace(
    waiting: Process, problem: Problem, sent: dict[str, Any], status: int, said: str
) -> None:
    before = everything()
    assert said in problem(post(**sent), status)["detail"]
    assert everything() == before


@pytest.mark.parametrize(
    "raw",
    [b'{"lines": "' + b"x" * 70_000 + b'"}', b'{"id": 1234567890123456789}', b'{"wei": 15%s}'],
    ids=["70 KB", "a long id", "an amount in wei"],
)
def test_what_providers_really_send_is_taken(waiting, raw):
    assert post(raw.replace(b"%s", b"0" * 20)).json() == {"outcome": "accepted"}


@pytest.mark.parametrize(
    ("raw", "answers", "reason"),
    [
        (b'{"a": 1, "a": 2}', None, "The body cannot be read: 'a' is given twice."),
        (b"[]", None, "The body must be a JSON object."),
        (PAID, WebhookRefused("18.50 EUR were asked for."), "18.50 EUR were asked for."),
        (PAID, KeyError("amount"), "KeyError: 'amount'"),
    ],
    ids=["not readable", "no object", "refused", "a mistake of the application"],
)
def test_a_genuine_webhook_that_is_refused_is_told(
    waiting: Process, raw: bytes, answers: Exception | None, reason: str
) -> None:
    provider.script["answers"] = Mock(side_effect=answers)

    for id in ("msg_1", "msg_2"):
        assert post(raw, id=id).status_code in (400, 422, 503)

    alert = Alert.objects.get()
    assert (alert.cause, alert.times) == ("webhook_refused:toy-pay", 2)
    assert text_of(alert) == f"A genuine webhook of toy-pay was refused: {reason.rstrip('.')}"


@pytest.mark.parametrize(
    "sent", [{"by": (OTHER,)}, {"raw": too_large()}, {"raw": b"{", "by": (OTHER,)}], ids=str
)
def test_no_stranger_raises_an_alert(waiting, sent):
    assert post(**sent).status_code in (401, 413)
    assert not Alert.objects.exists()


def test_what_does_not_match_the_order_is_refused(waiting, problem):
    def refuse(event: Any) -> Any:
        raise WebhookRefused("Order 7 asked for 18.50 EUR, not 0.01 EUR.")

    provider.script["answers"] = refuse
    before = everything()
    assert problem(post(), 422)["detail"] == "Order 7 asked for 18.50 EUR, not 0.01 EUR."
    assert everything() == before


@pytest.mark.parametrize(
    ("secrets", "error", "said"),
    [
        ([], None, "cannot be checked now"),
        ([SECRET], KeyError("amount"), "could not be handled, and nothing was stored"),
        ([SECRET], OperationalError("gone\nIs it running?"), "could not be stored just now"),
    ],
    ids=["no secret", "a mistake of the application", "no database"],
)
def test_what_is_our_own_fault_is_asked_for_again(waiting, problem, secrets, error, said, caplog):
    def stumble(event: Any) -> Any:
        raise error or AssertionError("not reached")

    provider.secrets["toy-pay"] = secrets
    provider.script["answers"] = stumble
    before = everything()
    answer = post()
    detail = problem(answer, 503)["detail"]
    assert answer["Retry-After"] == "5"
    assert said in detail
    assert SECRET not in detail
    assert everything() == before
    reasons = [vars(one)["reason"] for one in caplog.records if one.message == "database_away"]
    assert reasons == ["gone"] * isinstance(error, OperationalError)


def test_a_provider_has_its_minute_and_no_stranger_uses_it_up(waiting, problem):
    strangers = {post(id=f"msg_{n}", by=(OTHER,)).status_code for n in range(30)}
    assert strangers == {401}
    # Of 41 in less than a minute, more than 20 stand in one minute of the clock.
    answers = [post(id=f"msg_{n}") for n in range(41)]
    taken = [one for one in answers if one.status_code == 200]
    refused = [one for one in answers if one.status_code == 429]
    assert answers[0].status_code == 200
    assert len(taken) + len(refused) == 41
    assert "Wait" in problem(refused[0], 429)["detail"]
    assert 1 <= int(refused[0]["Retry-After"]) <= 60
    assert ReceivedWebhook.objects.count() == len(taken)
