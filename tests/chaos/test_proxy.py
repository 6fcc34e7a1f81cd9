"""The proxy, in front of a server that gives back what it gets."""

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.chaos.instances.server import HOST
from tests.chaos.proxy import Mode, Proxy
from tests.programs import until

#: Long enough for what must come, short where nothing may come.
SOON, SILENCE = 5.0, 0.3


class Echo:
    """Answers every piece of data with itself, and remembers what it got."""

    def __init__(self) -> None:
        #: Appended to by several threads, which no sum of bytes survives.
        self._pieces: list[bytes] = []
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def got(self) -> bytes:
        return b"".join(self._pieces)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with suppress(OSError), client:
            while data := client.recv(65_536):
                self._pieces.append(data)
                client.sendall(data)


@pytest.fixture
def echo() -> Iterator[Echo]:
    echo = Echo()
    yield echo
    echo.close()


@pytest.fixture
def proxy(echo) -> Iterator[Proxy]:
    with Proxy(echo.port) as proxy:
        yield proxy


def connect(proxy: Proxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), timeout=SOON)


def ask(client: socket.socket, data: bytes) -> bytes:
    client.sendall(data)
    return exactly(client, len(data))


def exactly(client: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (data := client.recv(count - len(found))):
        found += data
    return found


def is_broken(client: socket.socket) -> bool:
    """Say whether the connection ends, by a reset or without one."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def test_it_passes_everything_both_ways(proxy):
    data = bytes(range(256)) * 2000
    with connect(proxy) as one, connect(proxy) as other:
        assert ask(other, b"hello") == b"hello"
        sender = threading.Thread(target=one.sendall, args=(data,))
        sender.start()
        assert exactly(one, len(data)) == data
        sender.join()


def test_an_orderly_end_reaches_the_other_side(proxy):
    with connect(proxy) as client:
        assert ask(client, b"x") == b"x"
        client.shutdown(socket.SHUT_WR)
        assert is_broken(client)


def test_refusing_breaks_what_is_open_and_takes_nothing_new(proxy):
    with connect(proxy) as client:
        assert ask(client, b"x") == b"x"
        proxy.set(Mode.REFUSE)
        assert is_broken(client)
    with pytest.raises(ConnectionRefusedError):
        connect(proxy)
    proxy.set(Mode.PASS)
    with connect(proxy) as client:
        assert ask(client, b"again") == b"again"


def test_a_black_hole_takes_connections_and_passes_nothing_until_it_is_over(proxy, echo):
    with connect(proxy) as before:
        assert ask(before, b"x") == b"x"
        proxy.set(Mode.BLACK_HOLE)
        with connect(proxy) as during:
            for client in (before, during):
                client.sendall(b"lost?")
                client.settimeout(SILENCE)
                with pytest.raises(TimeoutError):
                    client.recv(1)
            assert echo.got == b"x"
            proxy.set(Mode.PASS)
            for client in (before, during):
                client.settimeout(SOON)
                assert exactly(client, 5) == b"lost?"


def test_a_delay_makes_everything_late(proxy):
    proxy.set(Mode.DELAY, 2 * SILENCE)
    with connect(proxy) as client:
        client.sendall(b"slow")
        client.settimeout(SILENCE)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(SOON)
        assert exactly(client, 4) == b"slow"


def test_a_cut_lets_exactly_so_many_bytes_through(proxy, echo):
    proxy.set(Mode.CUT, 10)
    with connect(proxy) as client:
        client.sendall(b"0123456789abc")
        while not is_broken(client):
            pass
    # Each connection has a thread of its own there: the next one's must not overtake it.
    until(lambda: bool(echo.got), SOON)
    proxy.set(Mode.PASS)
    with connect(proxy) as client:
        assert ask(client, b"|") == b"|"
    assert echo.got == b"0123456789|"


def test_a_dropped_reply_means_that_the_request_arrived(proxy, echo):
    proxy.set(Mode.DROP_REPLY)
    with connect(proxy) as client:
        client.sendall(b"do it")
        assert is_broken(client)
    assert echo.got == b"do it"


def test_cutting_breaks_every_connection_and_counts_them(proxy):
    with connect(proxy) as one, connect(proxy) as other:
        assert (ask(one, b"1"), ask(other, b"2")) == (b"1", b"2")
        assert proxy.cut() == 2
        assert is_broken(one)
        assert is_broken(other)
    with connect(proxy) as client:
        assert ask(client, b"3") == b"3"


def test_a_server_that_is_down_is_down_through_the_proxy():
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
    with Proxy(port) as proxy, connect(proxy) as client:
        assert is_broken(client)


def test_it_ends_without_a_word_while_connections_are_open(echo, caplog):
    with Proxy(echo.port) as proxy:
        client = connect(proxy)
        assert ask(client, b"x") == b"x"
    assert is_broken(client)
    client.close()
    assert caplog.records == []
