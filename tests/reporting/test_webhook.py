"""Webhooks: signed, to public addresses only, and never for longer than their time."""

import base64
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.test import override_settings

from tests.clients.scripted import answer, scripted
from tests.reporting.conftest import SECRET, read, relay, sink_of, told, webhook
from tests.reporting.receiver import Receiver, is_signed, receiving
from workers.http import ssrf_guard
from workers.notify import relay as relays
from workers.notify.senders import StatusMessage, Undelivered
from workers.notify.senders.webhook import send
from workers.protocol.webhook_signing import signature
from workers.store import sinks

LETTER = StatusMessage(
    "", b'{"type": "toy.status"}', "msg_1", "toy.status", 1, False, "", (SECRET,)
)
OTHER = "whsec_" + base64.b64encode(b"another secret of 24 byt").decode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver, override_settings(DEBUG=True, SAS_WEBHOOK_SECONDS=1):
        yield receiver


@pytest.fixture
def real(wire, monkeypatch) -> None:
    """Webhooks leave this process, whatever the wire would do with them."""
    monkeypatch.setitem(relays.senders, "webhook", send)


def to(url: str, **changes: Any) -> StatusMessage:
    return replace(LETTER, address=url, **changes)


def undelivered(letter: StatusMessage) -> Undelivered:
    with pytest.raises(Undelivered) as caught:
        send(letter)
    return caught.value


def test_a_receiver_can_check_what_it_is_sent(receiver, real, wire, secrets):
    process = told(webhook(f"{receiver.url}/told?shop=1", correlation_id="cart-7"))
    wire.run_until_idle()

    assert [json.loads(one.body)["sequence"] for one in receiver.received] == [1, 2, 3, 4, 5]
    assert len({one.headers["webhook-id"] for one in receiver.received}) == 5
    for one in receiver.received:
        assert one.path == "/told?shop=1"
        assert one.headers["content-type"] == "application/json"
        assert one.headers["correlation-id"] == "cart-7"
        assert abs(int(one.headers["webhook-timestamp"]) - time.time()) < 60
        assert is_signed(one, SECRET)
        assert not is_signed(one, OTHER)
        assert not is_signed(replace(one, body=one.body + b" "), SECRET)
    assert sink_of(process).state == "ended"


def test_the_signature_is_that_of_the_specification():
    # The example of the specification's own libraries.
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    made = signature((secret,), "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_while_a_secret_is_changed_both_are_signed_with(receiver):
    send(to(receiver.url, secrets=(OTHER, SECRET)))

    assert is_signed(receiver.received[0], SECRET)
    assert is_signed(receiver.received[0], OTHER)


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_any_success_is_a_delivery(receiver, status):
    receiver.status = status
    send(to(receiver.url))


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(receiver, status):
    receiver.status, receiver.headers = status, {"Location": f"{receiver.url}/elsewhere"}

    problem = undelivered(to(f"{receiver.url}/here"))

    assert "redirects are not followed" in str(problem)
    assert [one.path for one in receiver.received] == ["/here"]


@pytest.mark.parametrize(
    ("status", "is_gone", "is_away", "wait"),
    [
        *((400, False, False, None), (404, False, False, None), (410, True, False, None)),
        *((429, False, True, 7.0), (500, False, True, None), (503, False, True, 7.0)),
    ],
)
def test_what_an_answer_means(receiver, status, is_gone, is_away, wait):
    receiver.status, receiver.headers = status, {"Retry-After": "7"}

    problem = undelivered(to(receiver.url))

    assert (problem.is_gone, problem.is_away, problem.retry_after) == (is_gone, is_away, wait)


def drip(head: bytes, piece: bytes) -> Iterator[bytes]:
    yield head
    for _ in range(400):
        time.sleep(0.02)
        yield piece


@pytest.mark.parametrize(
    ("head", "piece"),
    [(b"", b""), (b"HTTP/1.1 200 OK\r\nA: ", b"x")],
    ids=["silent", "dripping headers"],
)
def test_a_receiver_that_is_slow_is_left_when_its_time_is_over(receiver, head, piece):
    with scripted(drip(head, piece)) as slow:
        begun = time.monotonic()
        problem = undelivered(to(slow.url))
        taken = time.monotonic() - begun

    assert 0.9 <= taken < 1.6
    assert problem.is_away


@pytest.mark.parametrize("size", [10_000_000, 500], ids=["huge", "dripping"])
def test_an_answer_s_body_is_cut_off_and_its_status_counts(receiver, size):
    piece = b"x" * 65536 if size > 500 else b"x"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size * 100)
    script = (piece for _ in range(1600)) if size > 500 else drip(b"", piece)

    def body() -> Iterator[bytes]:
        yield head
        for one in script:
            pieces.append(len(one))
            yield one

    pieces: list[int] = []
    with scripted(body()) as server:
        begun = time.monotonic()
        send(to(server.url))
        taken = time.monotonic() - begun

    assert taken < 1.6
    # What the sockets' own buffers took in, and no more.
    assert sum(pieces) < 20_000_000


def test_unreachable_webhook_address_counts_as_away(receiver):
    assert undelivered(to("http://127.0.0.1:1/told")).is_away


@override_settings(DEBUG=False, SAS_WEBHOOK_PRIVATE_ADDRESSES="on")
def test_an_installation_may_allow_plain_http_to_private_addresses(receiver):
    send(to(receiver.url))
    assert len(receiver.received) == 1


@override_settings(DEBUG=True, SAS_WEBHOOK_PRIVATE_ADDRESSES="off")
def test_what_is_switched_off_is_off_in_debug_too():
    assert "https" in str(undelivered(to("http://acme.example/told")))


@override_settings(DEBUG=False)
def test_outside_debug_nothing_is_sent_without_tls():
    assert "https" in str(undelivered(to("http://acme.example/told")))


@override_settings(DEBUG=False)
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "[::1]", "10.1.2.3", "169.254.169.254", "localhost", "0x7f.1", "2130706433"],
)
def test_outside_debug_no_connection_is_made_to_a_private_address(host):
    with scripted([answer("204 No Content")]) as server:
        problem = undelivered(to(f"https://{host}:{server.url.rpartition(':')[2]}/told"))

        assert "not public" in str(problem)
        assert server.requests == []


@override_settings(DEBUG=False)
def test_a_name_that_changes_its_address_after_it_was_looked_at_gains_nothing(monkeypatch):
    """DNS rebinding: public when it is checked, ours when it is called."""
    answers = ["93.184.216.34"]
    monkeypatch.setattr(ssrf_guard, "look_up", lambda host, port=0: [answers[0]])
    assert ssrf_guard.problem_of_url("https://rebinding.example/told") is None
    answers[0] = "127.0.0.1"

    assert "not public" in str(undelivered(to("https://rebinding.example/told")))


@override_settings(DEBUG=False)
def test_webhook_connects_to_the_ip_address_that_was_checked(monkeypatch):
    called: list[str] = []

    def connect(self: Any, host: str, *args: Any) -> Any:
        called.append(host)
        raise ssrf_guard.httpcore2.ConnectError("as far as it goes")

    monkeypatch.setattr(ssrf_guard, "look_up", lambda host, port=0: ["93.184.216.34"])
    monkeypatch.setattr(ssrf_guard.httpcore2.SyncBackend, "connect_tcp", connect)

    undelivered(to("https://acme.example/told"))

    assert called == ["93.184.216.34"]


def test_a_webhook_that_does_not_answer_is_tried_again_and_then_told_all(
    receiver, real, wire, secrets
):
    receiver.status = 500
    process = told(webhook(receiver.url))
    wire.run_until_idle()
    assert sink_of(process).tries == 1
    receiver.status = 204
    sinks.redeliver(sink_of(process).pk, actor="operator:ann")

    relay("webhook").run()

    bodies = [json.loads(one.body)["sequence"] for one in receiver.received]
    assert bodies == [1, 1, 2, 3, 4, 5]
    assert receiver.received[0].headers["webhook-id"] == receiver.received[1].headers["webhook-id"]
    assert read([]) == []
