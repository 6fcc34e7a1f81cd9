"""One POST: what is sent, what comes back, and what never happens."""

import gzip
import json
import shlex
import shutil
import ssl
from typing import Any

import pytest

from orders.sandbox.server import Sandbox
from tests import programs
from tests.clients.clock import seconds
from tests.clients.scripted import answer, scripted
from workers.exceptions import DeadlinePassed, Permanent, Refused, Transient, Unavailable
from workers.http import Answer, post
from workers.runtime import tracing

FINE = answer("200 OK", b'{"id": "ch_1"}')
CALL: dict[str, Any] = {"key": "k1", "remaining": lambda: 60.0}


def test_a_success_is_an_answer_with_its_object():
    with scripted([FINE]) as server:
        answered = post(server.url + "/payment/charge", json={"order": 7}, **CALL)

    assert answered == Answer(status=200, body={"id": "ch_1"}, tries=1)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /payment/charge HTTP/1.1\r\n")
    assert b"\r\nIdempotency-Key: k1\r\n" in head + b"\r\n"
    assert b"\r\nAccept-Encoding: identity\r\n" in head + b"\r\n"
    assert json.loads(body) == {"order": 7}


def test_a_service_is_told_the_trace_of_the_process_unless_the_agent_tells_another():
    key, other = f"{'a1' * 16}:2:1", f"00-{'b2' * 16}-{'c3' * 8}-01"
    with scripted([FINE]) as server, tracing.call_span("payment.charge", key, 1):
        post(server.url + "/x", json={}, key=key, remaining=seconds(5))
        post(
            server.url + "/x",
            json={},
            key=key,
            remaining=seconds(5),
            headers={"traceparent": other},
        )

    ours, theirs = server.requests
    assert f"\r\ntraceparent: 00-{'a1' * 16}-".encode() in ours.lower()
    assert f"\r\ntraceparent: {other}\r\n".encode() in theirs.lower()
    assert theirs.lower().count(b"traceparent") == 1


def test_no_time_left_means_no_call():
    with scripted([FINE]) as server, pytest.raises(DeadlinePassed):
        post(server.url + "/x", json={}, key="k1", remaining=lambda: 0.0)

    assert server.requests == []


@pytest.mark.parametrize("key", ["", "a\r\nb", "é", "\0"], ids=repr)
def test_a_key_that_no_header_can_carry_is_a_mistake_of_ours(key):
    with scripted([FINE]) as server, pytest.raises(ValueError, match="idempotency key"):
        post(server.url + "/x", json={}, key=key, remaining=seconds(5))

    assert server.requests == []


def test_a_redirect_is_not_followed():
    with scripted([FINE]) as elsewhere:
        moved = answer("307 Temporary Redirect", Location=elsewhere.url)
        with scripted([moved]) as server, pytest.raises(Unavailable) as caught:
            post(server.url + "/x", json={}, key="k1", remaining=seconds(0.9))

    assert caught.value.code == "http_307"
    assert elsewhere.requests == []


def test_the_environments_proxy_is_not_used(monkeypatch):
    with scripted([FINE]) as server, scripted([answer("502 Bad Gateway")]) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        answered = post(server.url + "/x", json={}, **CALL)

    assert answered.status == 200
    assert proxy.requests == []


def test_a_cookie_is_not_carried_to_the_next_call():
    with scripted([answer("200 OK", Set_Cookie="secret=1")]) as server:
        post(server.url + "/x", json={}, **CALL)
        post(server.url + "/x", json={}, **CALL)

    assert len(server.requests) == 2
    assert b"secret" not in server.requests[1]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command")
def test_untrusted_certificate_is_refused(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        " -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    made = ["-keyout", str(key), "-out", str(certificate)]
    programs.run(*shlex.split(command), *made, check=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    with scripted([FINE], tls=tls) as server, pytest.raises(Unavailable, match="CERTIFICATE"):
        post(server.url + "/x", json={}, key="k1", remaining=seconds(0.9))

    assert server.requests == []


def test_a_service_that_came_back_is_reached_on_a_new_connection(tmp_path):
    with Sandbox(tmp_path / "store") as sandbox:
        port = int(sandbox.url.rpartition(":")[2])
        post(sandbox.url + "/billing/issue", json={"order": 1}, **CALL)

    with Sandbox(tmp_path / "store", port=port) as sandbox:
        answered = post(sandbox.url + "/billing/issue", json={"order": 1}, **CALL)

    assert (answered.status, answered.tries) == (200, 1)


def test_a_forked_child_uses_no_connection_of_its_parent(tmp_path):
    script = (
        "import os, sys\n"
        "from workers.http import client as http, transport\n"
        "def call(n):\n"
        "    http.post(sys.argv[1] + '/billing/issue', json={'order': n}, key=f'k{n}',"
        " remaining=lambda: 5)\n"
        "    return transport.shared_transport()\n"
        "mine = call(1)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if call(2) is not mine else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert call(3) is mine\n"
    )
    with Sandbox(tmp_path / "store") as sandbox:
        ran = programs.python("-c", script, sandbox.url, seconds=20)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_unavailable_service_is_tried_again_within_the_call():
    busy = answer("503 Service Unavailable")
    with scripted([busy], [busy], [FINE]) as server:
        answered = post(server.url + "/x", json={}, **CALL)

    assert answered.tries == 3
    assert len(server.requests) == 3


def test_three_tries_are_the_most_and_are_reported():
    with (
        scripted([answer("503 Service Unavailable")]) as server,
        pytest.raises(Unavailable) as caught,
    ):
        post(server.url + "/x", json={}, **CALL)

    assert caught.value.tries == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "headers", "left", "fault"),
    [
        pytest.param("503 Busy", {}, 0.9, Unavailable, id="little time left"),
        pytest.param("503 Busy", {"Retry_After": "1"}, 60, Unavailable, id="told when to return"),
        pytest.param("503 Busy", {"Retry_After": "1.5"}, 60, Unavailable, id="told unreadably"),
        pytest.param("500 Oops", {}, 60, Transient, id="outcome unknown"),
        pytest.param("402 No", {}, 60, Refused, id="refused"),
    ],
)
def test_nothing_else_is_tried_again_within_the_call(status, headers, left, fault):
    with scripted([answer(status, **headers)]) as server, pytest.raises(fault) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(left))

    assert caught.value.tries == 1
    assert len(server.requests) == 1


def test_a_call_has_what_its_service_wants():
    with scripted([answer("200 OK", b"{}")]) as server:
        post(
            server.url + "/cards?mode=live",
            method="put",
            headers={"Authorization": "Bearer t", "accept": "text/json", "Content-Type": "a/b"},
            params={"page": 2},
            content=b"x=1",
            **CALL,
        )

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"PUT /cards?mode=live&page=2 HTTP/1.1\r\n")
    lines = {line.lower() for line in head.split(b"\r\n")[1:]}
    wanted = (b"authorization: bearer t", b"accept: text/json", b"content-type: a/b")
    assert lines.issuperset(wanted)
    assert body == b"x=1"


def test_our_key_and_encoding_are_not_replaced():
    given = {"idempotency-key": "theirs", "accept-encoding": "gzip"}
    with scripted([FINE]) as server:
        post(server.url + "/x", headers=given, **CALL)

    lines = {line.lower() for line in server.requests[0].split(b"\r\n")}
    assert lines >= {b"idempotency-key: k1", b"accept-encoding: identity"}
    assert not any(line.startswith(b"content-type") for line in lines)


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        pytest.param(204, b"", {}, id="204"),
        pytest.param(200, b"", {}, id="200"),
        pytest.param(201, b"\r\n", {}, id="a line"),
        pytest.param(202, gzip.compress(b""), {"Content_Encoding": "gzip"}, id="nothing, packed"),
    ],
)
def test_success_without_a_body_is_an_empty_answer(status, body, headers):
    with scripted([answer(f"{status} Fine", body, **headers)]) as server:
        answered = post(server.url + "/x", method="DELETE", json={}, **CALL)

    assert answered == Answer(status, {}, 1)


@pytest.mark.parametrize("body", [b"OK", b"[1]", b"<html>", b"\x1f\x8b"], ids=repr)
def test_success_in_another_form_is_one_for_an_agent_that_needs_no_body(body):
    with scripted([answer("200 OK", body)]) as server:
        answered = post(server.url + "/x", json={}, needs_body=False, **CALL)

    assert answered == Answer(200, {}, 1)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"json": {}, "content": b""}, "json or content"),
        ({"method": "GET /"}, "method must be a word"),
        ({"headers": {"Authorization": "a\r\nB: c"}}, "header 'Authorization' must be printable"),
    ],
)
def test_a_call_that_cannot_be_sent_is_a_mistake_of_ours(given: dict[str, Any], says: str) -> None:
    with scripted([FINE]) as server, pytest.raises(ValueError, match=says):
        post(server.url + "/x", **given, **CALL)

    assert server.requests == []


def test_a_fault_names_the_call_and_nothing_of_its_query():
    with scripted([answer("404 Not Found")]) as server, pytest.raises(Permanent) as caught:
        post(server.url + "/cards?token=secret", method="PATCH", json={}, **CALL)

    assert caught.value.message == "PATCH /cards: answered 404"
