"""No server, however slow, keeps a call beyond its time."""

import time
from collections.abc import Iterator

import pytest

from tests.clients.clock import seconds
from tests.clients.scripted import scripted
from workers.exceptions import Refused, Transient
from workers.http import post

LEFT = 0.3


def drip(head: bytes, piece: bytes) -> Iterator[bytes]:
    yield head
    for _ in range(200):
        time.sleep(0.02)
        yield piece


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nA: ", b"x", id="headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n", b" ", id="body"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", id="chunks"
        ),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n", id="interim answers"),
        pytest.param(b"", b"", id="nothing"),
    ],
)
def test_a_dripping_server_is_left_when_the_time_is_over(head, piece):
    with scripted(drip(head, piece)) as server:
        begun = time.monotonic()
        with pytest.raises(Transient) as caught:
            post(server.url + "/x", json={}, key="k1", remaining=seconds(LEFT))
        taken = time.monotonic() - begun

    assert LEFT - 0.05 <= taken < LEFT + 0.2
    assert caught.value.code == "timeout"
    assert len(server.requests) == 1


def test_a_refusal_counts_even_where_its_body_never_ends():
    head = b"HTTP/1.1 402 Payment Required\r\nContent-Length: 500\r\n\r\n"
    with scripted(drip(head, b" ")) as server:
        begun = time.monotonic()
        with pytest.raises(Refused) as caught:
            post(server.url + "/x", json={}, key="k1", remaining=seconds(LEFT))
        taken = time.monotonic() - begun

    assert taken < LEFT + 0.2
    assert caught.value.code == "http_402"
