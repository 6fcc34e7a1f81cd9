"""A connection of its own for each call: the answer to one never reaches another."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.clients.clock import seconds
from workers.http import post
from workers.notify.senders import http_post


class _Service:
    """Keeps its connections; answers each request with its key, and then with ``extra``.

    ``late`` bytes follow an answer only once the next request has come on its connection.
    """

    def __init__(self, status: str, extra: Callable[[bytes], bytes], late: bool) -> None:
        self._status, self._extra, self._late = status, extra, late
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        held = b""
        with contextlib.suppress(OSError), connection, connection.makefile("rb") as lines:
            while lines.readline():
                headers = {}
                while (line := lines.readline()) not in (b"\r\n", b""):
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                lines.read(int(headers["content-length"]))
                body = b'{"for": "%s"}' % headers["idempotency-key"].encode()
                head = f"HTTP/1.1 {self._status}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                answer = head + body
                more = self._extra(answer)
                if self._late:
                    held, more = more, held
                    connection.sendall(more + answer)
                else:
                    connection.sendall(answer + more)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextlib.contextmanager
def _service(
    status: str, extra: Callable[[bytes], bytes], late: bool = False
) -> Iterator[_Service]:
    service = _Service(status, extra, late)
    try:
        yield service
    finally:
        service.close()


def _call(url: str, key: str) -> Any:
    return post(url, json={}, key=key, remaining=seconds(5)).body.get("for")


def _webhook(url: str, key: str) -> Any:
    return http_post.post(url, b"{}", {"Idempotency-Key": key}).text


@pytest.mark.parametrize("ask", [_call, _webhook])
@pytest.mark.parametrize("late", [False, True], ids=["at once", "after the next request"])
@pytest.mark.parametrize(
    ("status", "extra"),
    [
        pytest.param("200 OK", lambda answer: b"", id="nothing more"),
        pytest.param("200 OK", lambda answer: answer, id="answered twice"),
        pytest.param("200 OK", lambda answer: b"\r\n", id="a line too many"),
        pytest.param("204 No Content", lambda answer: b"", id="204 with a body"),
    ],
)
def test_each_call_has_a_connection_of_its_own(ask, late, status, extra, settings):
    settings.SAS_WEBHOOK_PRIVATE_ADDRESSES = True
    keys = ["k1", "k2", "k3"]
    with _service(status, extra, late) as service:
        answers = [ask(service.url + "/x", key) for key in keys]

    if status == "200 OK":
        assert all(key in answer for key, answer in zip(keys, answers, strict=True))
    assert service.connections == len(keys)


def test_an_agent_cannot_have_its_connection_kept():
    with _service("200 OK", lambda answer: answer, late=True) as service:
        answers = [
            post(
                service.url,
                json={},
                key=key,
                remaining=seconds(5),
                headers={"Connection": "keep-alive"},
            ).body["for"]
            for key in ("k1", "k2")
        ]

    assert answers == ["k1", "k2"]
