"""Whatever is sent, the services answer clearly and stay up."""

import socket
import time

import pytest

KEY = {"Idempotency-Key": "k1"}


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        pytest.param(b"", 400, "invalid_json", id="empty"),
        pytest.param(b"{", 400, "invalid_json", id="cut"),
        pytest.param(b"\xff\xfe\x00", 400, "invalid_json", id="not text"),
        pytest.param(b"[" * 60_000, 400, "invalid_json", id="deep"),
        pytest.param(b'{"order": ' + b"9" * 5000 + b"}", 400, "invalid_json", id="endless number"),
        pytest.param(b"[]", 400, "not_an_object", id="list"),
        pytest.param(b"null", 400, "not_an_object", id="null"),
        pytest.param(b"{}", 422, "invalid_field", id="no order"),
        pytest.param(b'{"order": "7"}', 422, "invalid_field", id="order as text"),
        pytest.param(b'{"order": true}', 422, "invalid_field", id="order true"),
        pytest.param(b'{"order": 0}', 422, "invalid_field", id="order zero"),
        pytest.param(b'{"order": 7.0}', 422, "invalid_field", id="order with a point"),
        pytest.param(b'{"order": NaN}', 422, "invalid_field", id="order NaN"),
        pytest.param(b'{"order": 9223372036854775808}', 422, "invalid_field", id="order too big"),
        pytest.param(b'{"order": 7, "amount": 5}', 422, "invalid_field", id="amount as number"),
        pytest.param(b'{"order": 7, "amount": "-5"}', 422, "invalid_field", id="amount negative"),
        pytest.param(b'{"order": 7, "amount": "1e9"}', 422, "invalid_field", id="amount exponent"),
        pytest.param(
            b'{"order": 7, "amount": "5\\u0000"}', 422, "invalid_field", id="amount with NUL"
        ),
        pytest.param(b'{"order": 7, "undoes": "x"}', 422, "invalid_field", id="undoes on a charge"),
    ],
)
def test_a_bad_body_is_refused_and_has_no_effect(caller, body, status, error):
    reply = caller.send("POST", "/payment/charge", body, KEY)

    assert (reply.status, reply.body["error"]) == (status, error)
    assert reply.body["message"]
    assert caller.effects("payment") == []


@pytest.mark.parametrize(
    "undoes", [None, "", 5, "\0", "\ud800", "un", "x" * 256], ids=lambda value: repr(value)[:12]
)
def test_an_undo_must_name_another_key(caller, undoes):
    reply = caller.post("/payment/refund", "un", order=7, undoes=undoes)

    assert (reply.status, reply.body["field"]) == (422, "undoes")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"order": 7, "address": "a\\u0000b"}', id="NUL"),
        pytest.param(b'{"order": 7, "address": "\\ud800"}', id="lone surrogate"),
        pytest.param(b'{"order": 7, "address": {"street": ["x"]}}', id="object"),
        pytest.param(b'{"order": 7, "more": 1e999}', id="unknown field"),
    ],
)
def test_odd_but_harmless_bodies_are_served(caller, body):
    assert caller.send("POST", "/shipping/book", body, KEY).status == 200


@pytest.mark.parametrize("key", ["", " ", "a b", "a\tb", "é", "x" * 256], ids=repr)
def test_a_missing_or_odd_key_is_refused_by_the_headers_name(caller, key):
    reply = caller.send("POST", "/payment/charge", b'{"order": 7}', {"Idempotency-Key": key})

    assert reply.status == 400
    assert "Idempotency-Key" in reply.body["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/payment/steal", 404),
        ("POST", "/nobody/charge", 404),
        ("GET", "/nobody/ledger", 404),
        ("GET", "/payment", 404),
        ("GET", "/payment/ledger/more", 404),
        ("GET", "/%00", 404),
        ("GET", "/payment/charge", 405),
        ("PUT", "/payment/charge", 405),
        ("POST", "/payment/ledger", 405),
        ("POST", "/payment/faults", 405),
        ("POST", "/healthz", 405),
        ("DELETE", "/payment/faults", 405),
        ("HEAD", "/", 405),
    ],
)
def test_unknown_paths_and_wrong_methods_are_told_apart(caller, method, path, status):
    reply = caller.send(method, path, b"{}", KEY)

    assert reply.status == status
    assert ("Allow" in reply.headers) == (status == 405)


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"nonsense", 400), (b"[]", 400), (b'"\\ud800"', 400), (b'{"\\ud800": 1}', 422)],
)
def test_a_bad_fault_set_is_refused(caller, body, status):
    assert caller.send("PUT", "/payment/faults", body).status == status
    assert caller.faults("payment") == {}


def test_a_body_over_the_limit_is_refused_and_its_sender_gets_to_know(caller):
    host, port = caller.address.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"POST /shipping/book HTTP/1.1\r\nContent-Length: 300000\r\n\r\n")
        connection.sendall(b"x" * 150_000)
        answered = connection.recv(65536)
        # A server that closed on unread bytes would have reset the connection by now.
        time.sleep(0.05)
        connection.sendall(b"x" * 75_000)
        connection.sendall(b"x" * 75_000)

    assert answered.startswith(b"HTTP/1.1 413 ")
    assert b'"too_large"' in answered
    assert caller.ledger("shipping")["calls"] == 0


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", b"400", id="no request line"),
        pytest.param(b"GET / HTTP/9.9\r\n\r\n", b"505", id="unknown version"),
        pytest.param(b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414", id="endless path"),
        pytest.param(
            b"POST /payment/charge HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"400", id="length"
        ),
        pytest.param(
            b"POST /payment/charge HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"411",
            id="chunks",
        ),
        pytest.param(
            b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n", b"431", id="too many headers"
        ),
    ],
)
def test_bytes_that_are_no_request_are_refused(caller, request_bytes, status):
    host, port = caller.address.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(request_bytes)
        connection.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answered.startswith(b"HTTP/1.1 " + status)
    assert caller.send("GET", "/healthz").status == 200


def test_a_client_that_leaves_in_the_middle_has_no_effect(caller):
    host, port = caller.address.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"POST /payment/charge HTTP/1.1\r\nIdempotency-Key: k1\r\n")
        connection.sendall(b'Content-Length: 99\r\n\r\n{"order": 7}')

    assert caller.ledger("payment")["calls"] == 0


def test_many_requests_travel_on_one_connection(caller):
    host, port = caller.address.split(":")
    one = b"GET /healthz HTTP/1.1\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(one * 3)
        connection.shutdown(socket.SHUT_WR)
        answered = b"".join(iter(lambda: connection.recv(65536), b""))

    assert answered.count(b"HTTP/1.1 200 OK") == 3


def test_the_front_page_lists_the_services(caller):
    assert caller.send("GET", "/?x=1").body == {
        "services": {
            "payment": ["charge", "refund"],
            "shipping": ["book", "cancel"],
            "courier": ["book", "cancel"],
            "billing": ["issue", "void"],
        }
    }
