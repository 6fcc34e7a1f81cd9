"""Which fault a failed call is, and what its message may say."""

import gzip
import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from tests.clients.clock import seconds
from tests.clients.scripted import answer, scripted
from workers.exceptions import Fault, Permanent, Refused, Transient, Unavailable
from workers.http import post
from workers.http.client import LARGEST_ANSWER
from workers.http.faults import fault_of_status, own_statuses, retry_after


@pytest.mark.fault("F24")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (300, Unavailable),
        (302, Unavailable),
        (400, Permanent),
        (402, Refused),
        (404, Permanent),
        (405, Permanent),
        (408, Transient),
        (409, Transient),
        (410, Permanent),
        (422, Permanent),
        (425, Transient),
        (429, Unavailable),
        (499, Permanent),
        (500, Transient),
        (501, Transient),
        (502, Transient),
        (503, Unavailable),
        (504, Transient),
        (599, Transient),
        (600, Transient),
    ],
)
def test_a_status_decides_the_kind_of_fault(status, kind):
    with scripted([answer(f"{status} X")]) as server, pytest.raises(Fault) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(0.9))

    assert type(caught.value) is kind
    assert caught.value.code == f"http_{status}"
    assert caught.value.message == f"POST /x: answered {status}"
    # Whether it is proof is for the agent to say.
    assert (caught.value.no_effect, caught.value.status) == (False, status)


@pytest.mark.parametrize(
    ("status", "body", "code", "says"),
    [
        (401, b"{}", "credentials_refused", "answered 401: look at our credentials"),
        (403, b"", "credentials_refused", "answered 403: look at our credentials"),
        (407, b"<html>", "credentials_refused", "answered 407: look at our credentials"),
        (423, b"{}", "credentials_refused", "answered 423: look at our credentials"),
        (421, b"{}", "address_wrong", "answered 421: look at the address"),
        (404, b"<html>", "address_wrong", "answered 404: look at the address"),
        (405, b"", "address_wrong", "answered 405: look at the address"),
        (
            401,
            b'{"error": "key_expired"}',
            "credentials_refused",
            "answered 401 (key_expired): look at our credentials",
        ),
    ],
)
def test_a_refusal_of_us_is_unavailable_and_not_tried_again_at_once(status, body, code, says):
    with scripted([answer(f"{status} X", body)]) as server, pytest.raises(Unavailable) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert (caught.value.code, caught.value.message) == (code, f"POST /x: {says}")
    assert (caught.value.no_effect, caught.value.status) == (False, status)
    assert caught.value.tries == 1


@pytest.mark.parametrize("status", [401, 403, 404, 407])
def test_a_status_that_the_agent_declares_is_the_services_own_word(status):
    with (
        scripted([answer(f"{status} X", b"<html>")]) as server,
        own_statuses(frozenset({status})),
        pytest.raises(Permanent) as caught,
    ):
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert (caught.value.code, caught.value.status) == (f"http_{status}", status)


def test_what_was_never_sent_had_no_effect():
    with socket.create_server(("127.0.0.1", 0)) as unheard:
        port = unheard.getsockname()[1]
    with pytest.raises(Unavailable) as caught:
        post(f"http://127.0.0.1:{port}/x", json={}, key="k1", remaining=seconds(0.9))

    assert caught.value.no_effect


def test_a_try_before_is_not_forgotten():
    tries = [[answer("503 X")], [answer("402 X")]]
    with scripted(*tries) as server, pytest.raises(Refused) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert (caught.value.no_effect, caught.value.status, caught.value.tries) == (False, None, 2)


@pytest.mark.fault("F26")
@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        pytest.param([], "connection_lost", id="closed without an answer"),
        pytest.param([b"HTTP/1.1 200 OK\r\nContent-L"], "connection_lost", id="cut headers"),
        pytest.param([answer("200 OK", b'{"a": 1}')[:-3]], "connection_lost", id="cut body"),
        pytest.param([b"SSH-2.0-server\r\n\r\n"], "connection_lost", id="not HTTP"),
        pytest.param([answer("200 OK", b"<html>")], "unreadable_answer", id="HTML"),
        pytest.param([answer("200 OK", b"\x1f\x8b")], "unreadable_answer", id="packed and cut"),
        pytest.param([answer("200 OK", b"[1]")], "unreadable_answer", id="list"),
        pytest.param([answer("200 OK", b"[" * 99_999)], "unreadable_answer", id="deep"),
        pytest.param([answer("200 OK", b'{"a": NaN}')], "unreadable_answer", id="NaN"),
        pytest.param([answer("200 OK", b'{"a": 1e999}')], "unreadable_answer", id="infinity"),
        pytest.param([answer("200 OK", b'{"a": "\\u0000"}')], "unreadable_answer", id="NUL"),
        pytest.param([answer("200 OK", b'{"\\ud800": 1}')], "unreadable_answer", id="surrogate"),
        pytest.param(
            [answer("200 OK", b'{"a": ' + b"[" * 40 + b"]" * 40 + b"}")],
            "unreadable_answer",
            id="deeper than a column should be",
        ),
        pytest.param(
            [answer("200 OK", gzip.compress(b'{"a": 1}'), Content_Encoding="gzip")],
            "unreadable_answer",
            id="compressed",
        ),
        pytest.param(
            [answer("200 OK", b'{"a": "' + b"x" * LARGEST_ANSWER + b'"}')],
            "unreadable_answer",
            id="too large",
        ),
    ],
)
def test_an_answer_that_cannot_be_read_leaves_the_outcome_unknown(pieces, code):
    with scripted(pieces) as server, pytest.raises(Transient) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert (caught.value.code, caught.value.tries) == (code, 1)
    assert len(server.requests) == 1


@pytest.mark.fault("F25")
@pytest.mark.parametrize(
    "url",
    [
        pytest.param("http://host.invalid", id="unknown host"),
        pytest.param("http://" + "x" * 64 + ".invalid", id="impossible host"),
        pytest.param("ftp://127.0.0.1", id="other scheme"),
        pytest.param("127.0.0.1:80", id="no scheme"),
        pytest.param("http://[::1", id="no URL"),
        pytest.param("http://127.0.0.1:99999", id="impossible port"),
    ],
)
def test_a_service_that_cannot_be_addressed_is_unavailable(url, monkeypatch):
    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    if "host.invalid" in url:
        # Whatever resolver this machine has.
        monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(Unavailable) as caught:
        post(url + "/x", json={}, key="k1", remaining=seconds(0.9))

    assert caught.value.code == "unreachable"


@pytest.mark.fault("F25")
def test_a_refused_connection_is_unavailable_and_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

    with pytest.raises(Unavailable) as caught:
        post(url + "/x", json={}, key="k1", remaining=seconds(5))

    assert (caught.value.code, caught.value.tries) == ("unreachable", 3)
    assert f"POST /x: {url.removeprefix('http://')} is not reached: " in caught.value.message


def test_a_message_has_nothing_of_the_name_and_the_password_of_a_url():
    with pytest.raises(Unavailable) as caught:
        post("http://ann:secret@127.0.0.1:1/x", json={}, key="k1", remaining=seconds(5))

    assert caught.value.message.startswith("POST /x: 127.0.0.1:1 is not reached: ")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b'{"error": "card_declined"}', "card_declined", id="code"),
        pytest.param(b'{"error": "No money for anna@example.org"}', "http_402", id="prose"),
        pytest.param(b'{"error": {"code": 1}}', "http_402", id="object"),
        pytest.param(b'{"error": "' + b"x" * 51 + b'"}', "http_402", id="long"),
        pytest.param(b"[]", "http_402", id="list"),
        pytest.param(b"x" * (LARGEST_ANSWER + 9), "http_402", id="too large"),
    ],
)
def test_fault_takes_code_of_service_only_if_code_is_valid(body, code):
    with scripted([answer("402 No", body)]) as server, pytest.raises(Refused) as caught:
        post(server.url + "/x", json={"card": "4242"}, key="secret", remaining=seconds(5))

    assert caught.value.code == code
    assert caught.value.message == "POST /x: answered 402"


def test_a_message_quotes_nothing_of_an_answer_that_is_not_http():
    pieces = [b"HTTP/1.1 200 OK\r\nsecret line\r\n\r\n"]
    with scripted(pieces) as server, pytest.raises(Transient) as caught:
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert caught.value.message == "POST /x: connection lost (RemoteProtocolError)"


def test_a_message_has_at_most_two_hundred_letters():
    with scripted([answer("500 Oops")]) as server, pytest.raises(Transient) as caught:
        post(server.url + "/" + "x" * 500, json={}, key="k1", remaining=seconds(5))

    assert len(caught.value.message) == 200


def test_retry_after_comes_with_the_fault():
    with (
        scripted([answer("429 Slow down", Retry_After="7")]) as server,
        pytest.raises(Unavailable) as caught,
    ):
        post(server.url + "/x", json={}, key="k1", remaining=seconds(5))

    assert caught.value.retry_after == 7.0


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("0", 0.0),
        (" 120 ", 120.0),
        ("999999", 3600.0),
        ("9" * 20, 3600.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 5000, 3600.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ],
    ids=lambda value: repr(value)[:32],
)
def test_retry_after_is_read_with_care(text, wait):
    assert retry_after(text) == wait


def test_retry_after_may_be_a_date_to_come():
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)

    wait = retry_after(later)

    assert wait is not None
    assert 80 < wait <= 90


@pytest.mark.parametrize(
    ("says_when", "message"),
    [
        ("7", "answered 429"),
        ("3600", "answered 429"),
        ("86400", "answered 429 and asks to wait 24 h, asked each hour"),
        ("9" * 400, "answered 429 and asks to wait 277778 h, asked each hour"),
    ],
)
def test_a_wait_that_is_cut_is_named(says_when, message):
    fault = fault_of_status("POST /x", 429, {"Retry-After": says_when}, None)
    assert str(fault.message).endswith(message)
    assert fault.retry_after is not None
    assert fault.retry_after <= 3600
